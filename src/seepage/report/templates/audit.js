"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const number = x => x === "inf" ? Infinity : x === "-inf" ? -Infinity : x === null ? NaN : x;
const $ = id => document.getElementById(id);
const all = (query, root = document) => Array.from(root.querySelectorAll(query));
const make = (tag, text, name) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (name) node.className = name;
  return node;
};

// ---- mathematics: the leakage of a curve with vertices (α, α + gap) at budget ε
const logRatio = (alpha, gap, epsilon) => {
  if (gap <= 0 || epsilon === 0) return 0;
  const q = Math.exp(-epsilon), below = alpha - alpha * q + q;
  if (below > 1e-290) return Math.log1p(-Math.expm1(-epsilon) * gap / below);
  const p = alpha + gap;
  return Math.log(p - p * q + q) - (alpha === 0 ? -epsilon : Math.log(below));
};
const leakage = (curve, epsilon) => {
  let best = 0;
  for (let i = 0; i < curve[0].length; i++) best = Math.max(best, logRatio(curve[0][i], curve[1][i], epsilon));
  return best;
};

// ---- numbers in words, as the Python side writes them
const nats = (x, digits = 3) => {
  if (Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const smallest = 10 ** -digits;
  if (Math.abs(x) < smallest) return (x < 0 ? "−" : "") + "<" + smallest.toFixed(digits);
  return x.toFixed(digits).replace("-", "−");
};
const budget = x => Number.isFinite(x) ? String(Number(x.toPrecision(6))) : "∞";
const strength = (x, epsilon) => {
  if (!(x > 0) || epsilon === 0) return 0;
  return Number.isFinite(epsilon) ? Math.min(1, x / epsilon) : -Math.expm1(-x);
};
const share = (x, epsilon) => {
  if (!Number.isFinite(epsilon) || epsilon === 0 || Number.isNaN(x)) return "–";
  const percent = 100 * x / epsilon;
  return percent > 0 && percent < 1 ? "<1 %" : percent.toFixed(0) + " %";
};
const factor = x => Number.isFinite(x) ? "by a factor of up to " + (x > 14 ? Math.exp(x).toExponential(1) : String(Number(Math.exp(x).toPrecision(3)))) : "without bound";

const budgets = data.budgets.map(number);
const pairs = data.pairs.map((pair, i) => ({
  ...pair, i,
  audited: number(pair.epsilon),
  found: Object.fromEntries(["leakage", "triad_leakage", "grr_leakage", "mutual_information", "pearson"]
    .map(name => [name, { value: number(pair[name][0]), standing: pair[name][1] }])),
  secretName: data.names[pair.secret], releasedName: data.names[pair.released],
}));
const curves = { leakage: "curve", triad_leakage: "triad_curve", grr_leakage: "grr_curve" };
const state = { epsilon: null, measure: "leakage", selected: 0, linear: false };
const epsilonOf = pair => state.epsilon === null ? pair.audited : state.epsilon;
const valueOf = (pair, measure) => {
  if (state.epsilon === null || !(measure in curves)) return pair.found[measure].value;
  const curve = pair[curves[measure]];
  return curve ? leakage(curve, state.epsilon) : NaN;
};

// ---- map
const map = $("map"), cells = all("td[data-i]", map), cellOf = new Map(cells.map(cell => [Number(cell.dataset.i), cell]));
const names = data.names.length, dense = map.classList.contains("dense");
function paintMap() {
  for (const cell of cells) {
    const pair = pairs[Number(cell.dataset.i)], value = valueOf(pair, state.measure), s = strength(value, epsilonOf(pair));
    cell.style.setProperty("--s", s.toFixed(4));
    cell.classList.toggle("hot", s > .5);
    cell.dataset.value = value;
    cell.firstChild.textContent = nats(value, 2);
  }
  const infinite = state.epsilon === null ? pairs.every(p => p.audited === Infinity) : state.epsilon === Infinity;
  const mixed = state.epsilon === null && !infinite && pairs.some(p => p.audited === Infinity);
  $("legend-title").textContent = infinite ? "Nats" : mixed ? "Share of ε (1 − e^−L where ε = ∞)" : "Share of ε";
  const ticks = infinite ? [0, .5, 1, 2, Infinity].map(x => [strength(x, Infinity), nats(x, 1)]) : [0, .5, 1].map(x => [x, 100 * x + " %"]);
  $("legend-ticks").replaceChildren(...ticks.map(([at, text]) => {
    const tick = make("span", text);
    tick.style.left = 100 * at + "%";
    return tick;
  }));
}
const heads = all("thead th", map), rowHeads = all("tbody th", map);
function select(i, focus) {
  const old = cellOf.get(state.selected);
  if (old) { old.tabIndex = -1; old.setAttribute("aria-selected", "false"); }
  all("#map th.on, #pairs tr.on").forEach(node => node.classList.remove("on"));
  state.selected = i;
  const cell = cellOf.get(i), pair = pairs[i];
  cell.tabIndex = 0;
  cell.setAttribute("aria-selected", "true");
  heads[pair.released].classList.add("on");
  rowHeads[pair.secret].classList.add("on");
  const row = rowOf.get(i);
  if (row) row.classList.add("on");
  if (focus) cell.focus();
  paintDetail();
}
map.setAttribute("role", "grid");
for (const cell of cells) { cell.tabIndex = -1; cell.setAttribute("role", "gridcell"); cell.setAttribute("aria-selected", "false"); }
map.addEventListener("click", event => {
  const cell = event.target.closest("td[data-i]");
  if (cell) select(Number(cell.dataset.i), true);
});
map.addEventListener("keydown", event => {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  const cell = event.target.closest("td[data-i]");
  if (!step || !cell) return;
  event.preventDefault();
  const pair = pairs[Number(cell.dataset.i)];
  let r = pair.secret, c = pair.released;
  do { r += step[0]; c += step[1]; } while (r === c);
  if (r < 0 || c < 0 || r >= names || c >= names) return;
  select(pairs.findIndex(p => p.secret === r && p.released === c), true);
});

// ---- tooltip
const tip = make("div"); tip.id = "tip"; tip.hidden = true; tip.setAttribute("role", "tooltip");
document.body.append(tip);
function showTip(cell, x, y) {
  const pair = pairs[Number(cell.dataset.i)], epsilon = epsilonOf(pair);
  const rows = [make("b", pair.releasedName + " → " + pair.secretName)];
  const line = (label, value) => rows.push(make("div", label + ": " + value));
  line("Exact leakage", nats(valueOf(pair, "leakage")) + " nats at ε = " + budget(epsilon) + (Number.isFinite(epsilon) && epsilon > 0 ? " (" + share(valueOf(pair, "leakage"), epsilon) + " of ε)" : ""));
  line("Triad, at most", nats(valueOf(pair, "triad_leakage")));
  if (!Number.isNaN(valueOf(pair, "grr_leakage"))) line("Randomised response", nats(valueOf(pair, "grr_leakage")));
  line("Mutual information, no bound", nats(pair.found.mutual_information.value));
  if (pair.values) line("Worst values" + (state.epsilon === null ? "" : " (audited ε)"), pair.values.join(" against "));
  tip.replaceChildren(...rows);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(6, Math.min(innerWidth - box.width - 6, x + 14)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(6, y - box.height - 12) : y + 18) + "px";
}
const hideTip = () => { tip.hidden = true; };
map.addEventListener("mousemove", event => {
  const cell = event.target.closest("td[data-i]");
  if (cell) showTip(cell, event.clientX, event.clientY); else hideTip();
});
map.addEventListener("mouseleave", hideTip);
map.addEventListener("focusin", event => {
  const cell = event.target.closest("td[data-i]");
  if (cell && cell.matches(":focus-visible")) { const box = cell.getBoundingClientRect(); showTip(cell, box.right, box.bottom); }
});
map.addEventListener("focusout", hideTip);
addEventListener("keydown", event => { if (event.key === "Escape") hideTip(); });
addEventListener("scroll", hideTip, { passive: true });

// ---- curves
const SVG = "http://www.w3.org/2000/svg";
const draw = (parent, tag, attributes, text) => {
  const node = document.createElementNS(SVG, tag);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
};
function niceTicks(top) {
  const rough = top / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map(x => x * power).find(x => x >= rough);
  const ticks = [];
  for (let k = 0; k * step <= top * 1.0001; k++) ticks.push(Number((k * step).toPrecision(6)));
  return ticks;
}
const ceilingOf = chosen => {
  const top = Math.max(0, ...chosen.map(p => Math.max(leakage(p.curve, 10), leakage(p.triad_curve, 10))));
  return top > 0 ? 1.08 * top : 1;
};
function plot(pair, { width, height, ceiling, small, label }) {
  const margin = small ? { l: 30, r: 6, t: 6, b: 20 } : { l: 44, r: 10, t: 10, b: 40 };
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const right = width - margin.r, bottom = height - margin.b, linear = state.linear && !small;
  const x = e => margin.l + (right - margin.l) * (linear ? e / 10 : (Math.log10(e) + 2) / 3);
  const y = v => bottom - (bottom - margin.t) * v / ceiling;
  const back = u => { const f = (u - margin.l) / (right - margin.l); return linear ? 10 * f : 10 ** (3 * f - 2); };
  for (const v of niceTicks(ceiling)) {
    draw(svg, "line", { class: "gridline", x1: margin.l, x2: right, y1: y(v), y2: y(v) });
    draw(svg, "text", { x: margin.l - 6, y: y(v) + 4, "text-anchor": "end" }, String(v));
  }
  for (const e of linear ? [0, 2, 4, 6, 8, 10] : [.01, .1, 1, 10]) draw(svg, "text", { x: x(e), y: bottom + 15, "text-anchor": e === 10 ? "end" : "middle" }, String(e));
  if (!small) {
    draw(svg, "text", { x: (margin.l + right) / 2, y: height - 6, "text-anchor": "middle" }, "ε of the released attribute (nats)");
    draw(svg, "text", { transform: `translate(11 ${(margin.t + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, "leakage (nats)");
  }
  const steps = small ? 60 : 150, grid = Array.from({ length: steps + 1 }, (_, k) => linear ? 10 * k / steps : 10 ** (3 * k / steps - 2));
  const path = (name, f) => {
    let d = "", above = false;
    for (let e of grid) {
      let v = f(e);
      if (v > ceiling) { if (above) continue; above = true; e = name === "diagonal" ? ceiling : e; v = ceiling; }
      d += (d ? "L" : "M") + x(e).toFixed(1) + " " + y(v).toFixed(1);
    }
    draw(svg, "path", { class: name, d });
  };
  path("diagonal", e => e);
  if (!small && pair.grr_curve) path("grr", e => leakage(pair.grr_curve, e));
  path("exact", e => leakage(pair.curve, e));
  path("triad", e => leakage(pair.triad_curve, e));
  const epsilon = epsilonOf(pair), low = linear ? 0 : .01;
  if (epsilon >= low && epsilon <= 10) {
    draw(svg, "line", { class: "now", x1: x(epsilon), x2: x(epsilon), y1: margin.t, y2: bottom });
    for (const [name, measure] of [["triad", "triad_leakage"], ["grr", "grr_leakage"], ["exact", "leakage"]]) {
      const v = valueOf(pair, measure);
      if (Number.isFinite(v) && v <= ceiling && !(small && name === "grr")) draw(svg, "circle", { class: name, cx: x(epsilon), cy: y(v), r: small ? 3 : 4 });
    }
  }
  if (!small) {
    const read = draw(svg, "text", { class: "read", x: margin.l + 8, y: margin.t + 12 }, "");
    svg.addEventListener("mousemove", event => {
      const box = svg.getBoundingClientRect();
      const e = Math.min(10, Math.max(low, back((event.clientX - box.left) * width / box.width)));
      read.textContent = `ε ${e.toPrecision(2)}: exact ${nats(leakage(pair.curve, e))}, triad ${nats(leakage(pair.triad_curve, e))}` + (pair.grr_curve ? `, GRR ${nats(leakage(pair.grr_curve, e))}` : "");
    });
    svg.addEventListener("mouseleave", () => { read.textContent = ""; });
  }
  return svg;
}

// ---- selected pair
function paintDetail() {
  const pair = pairs[state.selected], epsilon = epsilonOf(pair), value = valueOf(pair, "leakage");
  $("detail-title").textContent = pair.releasedName + " → " + pair.secretName;
  let text;
  if (value > 0) {
    text = `Releasing “${pair.releasedName}” at ε = ${budget(epsilon)} leaks up to ${nats(value)} nats about “${pair.secretName}”`;
    if (Number.isFinite(epsilon)) text += `, ${share(value, epsilon)} of its budget`;
    text += ". ";
    if (pair.values) {
      text += state.epsilon === null ? "" : `At the audited budget (ε = ${budget(pair.audited)}) the worst case is this: `;
      const rest = pair.event_size - pair.event.length;
      text += `“${pair.releasedName}” in {${pair.event.join(", ")}${rest > 0 ? ` … and ${rest} more` : ""}} points to “${pair.values[0]}” rather than “${pair.values[1]}”`;
      text += state.epsilon === null ? ` and can shift the odds between them ${factor(value)}.` : `. At this ε the odds of some two values can shift ${factor(value)}.`;
    } else text += `The odds of some two values can shift ${factor(value)}.`;
  } else text = `Releasing “${pair.releasedName}” at ε = ${budget(epsilon)} tells nothing about “${pair.secretName}”.`;
  $("sentence").textContent = text;
  $("curve").replaceChildren(plot(pair, { width: 400, height: 280, ceiling: ceilingOf([pair]), label: `Leakage against ε, from ${pair.releasedName} about ${pair.secretName}: exact ${nats(value)} nats at ε = ${budget(epsilon)}` }));
  all(".key.grr").forEach(node => { node.hidden = !pair.grr_curve; });
  const rows = [["Exact worst case", "leakage"], ["Triad", "triad_leakage"], ["Randomised response", "grr_leakage"], ["Mutual information, no bound", "mutual_information"], ["Pearson, no bound", "pearson"]].map(([label, measure]) => {
    const row = make("tr"), v = valueOf(pair, measure), head = make("th", label), mark = make("td");
    head.scope = "row";
    mark.append(make("span", pair.found[measure].standing, "standing"));
    row.append(head, make("td", nats(v, 4) + (measure === "pearson" || Number.isNaN(v) ? "" : " nats"), "number"), mark);
    return row;
  });
  if (pair.sampled) {
    const row = make("tr"), head = make("th", `${100 * pair.sampled.confidence} % limits at the audited ε`), low = number(pair.sampled.limits[0]), high = number(pair.sampled.limits[1]);
    head.scope = "row";
    row.append(head, make("td", `${nats(low, 2)} to ${nats(high, 2)} nats`, "number"), make("td", pair.sampled.distinguishable ? "" : "not told from none", "note"));
    rows.splice(1, 0, row);
  }
  const triad = make("tr"), head = make("th", "Triad α, β, δ"), list = make("td", pair.triad.map(x => nats(number(x))).join(", "), "number");
  head.scope = "row";
  triad.append(head, list, make("td"));
  rows.push(triad);
  $("numbers").tBodies[0].replaceChildren(...rows);
}
$("linear").addEventListener("change", event => { state.linear = event.target.checked; paintDetail(); });

// ---- worst pairs
function paintWorst() {
  const worst = pairs.map(p => [valueOf(p, "leakage"), p]).sort((a, b) => b[0] - a[0]).slice(0, 8).map(x => x[1]);
  const ceiling = ceilingOf(worst);
  $("worst").replaceChildren(...worst.map(pair => {
    const button = make("button"), title = make("b", pair.releasedName + " → " + pair.secretName);
    button.type = "button";
    button.append(title, plot(pair, { width: 260, height: 150, ceiling, small: true, label: `exact ${nats(valueOf(pair, "leakage"))} nats at ε = ${budget(epsilonOf(pair))}` }));
    button.addEventListener("click", () => { select(pair.i); $("detail-title").scrollIntoView({ block: "center" }); });
    return button;
  }));
}

// ---- table of all pairs
const table = $("pairs"), body = table.tBodies[0], rows = all("tr", body), rowOf = new Map(rows.map(row => [Number(row.dataset.i), row]));
const keyOf = {
  secret: p => p.secretName, released: p => p.releasedName, epsilon: epsilonOf,
  share: p => { const e = epsilonOf(p); return e > 0 && Number.isFinite(e) ? valueOf(p, "leakage") / e : -1; },
  values: p => p.values ? p.values.join(" against ") : "",
  upper: p => p.sampled ? number(p.sampled.limits[1]) : NaN,
};
const sortKey = name => keyOf[name] || (p => valueOf(p, name));
function compare(a, b) {
  if (typeof a === "string") return a.localeCompare(b, undefined, { numeric: true });
  const x = Number.isNaN(a) ? -Infinity : a, y = Number.isNaN(b) ? -Infinity : b;
  return x < y ? -1 : x > y ? 1 : 0;
}
function sortRows() {
  const head = all("th[aria-sort]", table)[0], key = sortKey(head.dataset.key), sign = head.getAttribute("aria-sort") === "descending" ? -1 : 1;
  const keyed = rows.map(row => [key(pairs[Number(row.dataset.i)]), row]);
  keyed.sort((a, b) => sign * compare(a[0], b[0]));
  body.append(...keyed.map(x => x[1]));
}
for (const head of all("thead th", table)) {
  const button = make("button");
  button.type = "button";
  button.append(...head.childNodes, make("span", undefined, "arrow"));
  head.append(button);
  button.addEventListener("click", () => {
    const old = head.getAttribute("aria-sort"), text = ["secret", "released", "values"].includes(head.dataset.key);
    all("th[aria-sort]", table).forEach(node => node.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", old ? (old === "descending" ? "ascending" : "descending") : text ? "ascending" : "descending");
    sortRows();
  });
}
function filterRows() {
  const word = $("filter").value.trim().toLocaleLowerCase();
  let shown = 0;
  for (const row of rows) {
    const pair = pairs[Number(row.dataset.i)];
    row.hidden = word !== "" && !(pair.secretName + "\n" + pair.releasedName).toLocaleLowerCase().includes(word);
    if (!row.hidden) shown++;
  }
  $("count").textContent = `${shown} of ${rows.length} pairs`;
}
$("filter").addEventListener("input", filterRows);
body.addEventListener("click", event => {
  const row = event.target.closest("tr[data-i]");
  if (row && String(getSelection()) === "") select(Number(row.dataset.i));
});
// Limits are known at the audited budgets only.
const limited = table.querySelector("th[data-key=upper]") !== null;
if (limited) for (const row of rows) row.cells[5].dataset.limits = row.cells[5].textContent;
function paintRows() {
  for (const row of rows) {
    const pair = pairs[Number(row.dataset.i)], epsilon = epsilonOf(pair), c = row.cells, value = valueOf(pair, "leakage");
    c[2].textContent = budget(epsilon);
    c[3].textContent = nats(value);
    c[3].dataset.value = value;
    c[4].textContent = share(value, epsilon);
    if (limited && pair.sampled) c[5].textContent = epsilon === pair.audited ? c[5].dataset.limits : "–";
    const after = limited ? 6 : 5;
    c[after].textContent = nats(valueOf(pair, "triad_leakage"));
    c[after + 1].textContent = nats(valueOf(pair, "grr_leakage"));
  }
  sortRows();
}

// ---- totals
const totalRows = all("#totals tbody tr");
// Messages along the dependency tree: what a branch tells through the edge to its neighbour.
const pairAt = new Map(pairs.map(p => [p.secret * names + p.released, p]));
const neighbours = data.names.map(() => []);
for (const [a, b] of data.tree) { neighbours[a].push(b); neighbours[b].push(a); }
function treeTotals(own) {
  const known = new Map();
  const message = (from, to) => {
    const key = from * names + to;
    if (!known.has(key)) {
      const carried = neighbours[from].reduce((sum, e) => e === to ? sum : sum + message(e, from), own[from]);
      known.set(key, leakage(pairAt.get(to * names + from).curve, carried));
    }
    return known.get(key);
  };
  return own.map((e, k) => neighbours[k].reduce((sum, c) => sum + message(c, k), e));
}
function paintTotals() {
  const own_ = data.names.map((_, k) => state.epsilon === null ? budgets[k] : state.epsilon);
  const tree = treeTotals(own_), group = own_.reduce((a, b) => a + b, 0);
  const entries = totalRows.map(row => {
    const k = Number(row.dataset.k), own = state.epsilon === null ? budgets[k] : state.epsilon;
    const others = pairs.reduce((sum, p) => p.secret === k ? sum + valueOf(p, "leakage") : sum, 0);
    return { row, own, others, total: own + others };
  }).sort((a, b) => b.total - a.total || a.row.dataset.k - b.row.dataset.k);
  const longest = Math.max(0, ...entries.map(x => x.total).filter(Number.isFinite)) || 1;
  for (const { row, own, others, total } of entries) {
    row.cells[1].textContent = budget(own);
    row.cells[2].textContent = nats(others);
    row.cells[3].textContent = nats(total);
    row.cells[3].dataset.value = total;
    row.cells[5].textContent = nats(tree[Number(row.dataset.k)]);
    row.cells[5].dataset.value = tree[Number(row.dataset.k)];
    row.cells[6].textContent = nats(group);
    row.cells[6].dataset.value = group;
    const ownShare = Number.isFinite(own) ? Math.min(1, own / longest) : 1;
    const otherShare = Number.isFinite(total) ? others / longest : 1 - ownShare;
    const bars = row.querySelectorAll("i");
    bars[0].style.width = 100 * ownShare + "%";
    bars[1].style.width = 100 * otherShare + "%";
    row.parentNode.append(row);
  }
}

// ---- settings
function paint() {
  paintMap(); paintDetail(); paintWorst(); paintTotals(); paintRows();
}
let waiting = 0;
function setEpsilon(value, from) {
  state.epsilon = value;
  const distinct = new Set(budgets), shown = value === null ? (distinct.size === 1 ? budgets[0] : NaN) : value;
  if (from !== "slider") $("epsilon").value = Number.isNaN(shown) ? 0 : Math.max(-2, Math.min(1, Math.log10(Math.max(shown, 1e-9))));
  if (from !== "number") $("epsilon-number").value = Number.isNaN(shown) ? "" : shown === Infinity ? "inf" : budget(shown);
  $("epsilon").setAttribute("aria-valuetext", Number.isNaN(shown) ? "differs by attribute" : "ε = " + budget(shown));
  $("epsilon-note").textContent = value === null
    ? (distinct.size === 1 ? `As audited: ε = ${budget(budgets[0])}.` : "As audited: every attribute has its own budget.")
    : `Showing ε = ${budget(value)} for every attribute; the audit was made at ${distinct.size === 1 ? "ε = " + budget(budgets[0]) : "a budget for each"}.` + (pairs.some(p => p.grr_curve) ? "" : " Randomised response: audited budget only.");
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(paint);
}
$("epsilon").addEventListener("input", event => setEpsilon(Number((10 ** event.target.valueAsNumber).toPrecision(3)), "slider"));
$("epsilon-number").addEventListener("input", event => {
  const text = event.target.value.trim().toLowerCase();
  const value = ["inf", "infinity", "∞"].includes(text) ? Infinity : text === "" ? NaN : Number(text.replace(",", "."));
  const good = value >= 0;
  event.target.setAttribute("aria-invalid", String(!good));
  if (good) setEpsilon(value, "number"); else $("epsilon-note").textContent = "Expected a number of nats, 0 or more, or inf.";
});
$("audited").addEventListener("click", () => setEpsilon(null));
$("measure").addEventListener("change", event => { state.measure = event.target.value; paintMap(); });

all(".needs-script").forEach(node => { node.hidden = false; });
state.selected = pairs.reduce((best, p) => p.found.leakage.value > pairs[best].found.leakage.value ? p.i : best, 0);
select(state.selected);
filterRows();
setEpsilon(null);
paint();
})();
