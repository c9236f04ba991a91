from __future__ import annotations

import html.parser
import json
import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from seepage import report
from seepage.leakage.model import LeakageModel
from seepage.plan.audit import audit
from seepage.plan.audit_result import AuditResult
from seepage.plan.totals import total_leakage
from seepage.report import wording
from seepage.tradeoff import TradeOff

LOADING = ("src", "href", "srcset", "data", "action", "poster", "background")
EPSILONS = (0.0, 1e-9, 0.3, 2.5, 40.0, 800.0, math.inf)


class Reader(html.parser.HTMLParser):
    """Tags, attributes and the text of elements with an id, as a browser would find them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self.rows: list[list[str]] = []
        self._id: str | None = None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag in {"script", "pre"}:
            self._id = attributes.get("id") or "script"
            self.text[self._id] = ""

    def handle_endtag(self, tag):
        if tag in {"script", "pre"}:
            self._id = None

    def handle_data(self, data):
        if self._id is not None:
            self.text[self._id] += data


def number(value: str | float) -> float:
    """A number of the page's JSON, or of the script: infinity is spelled in either way."""
    return math.inf if value in ("inf", "Infinity") else float(value)


def test_page_holds_the_numbers_of_the_audit(ordinary: AuditResult) -> None:
    data = json.loads(Reader(report.html(ordinary)).text["data"])
    assert data["names"] == list(ordinary.domain.names)
    assert len(data["pairs"]) == 20
    for item, pair in zip(data["pairs"], ordinary.pairs, strict=True):
        assert data["names"][item["secret"]] == pair.secret
        assert data["names"][item["released"]] == pair.released
        for name in (
            "leakage",
            "triad_leakage",
            "grr_leakage",
            "mutual_information",
            "pearson",
        ):
            finding = getattr(pair, name)
            assert item[name] == [pytest.approx(finding.value, rel=1e-8), str(finding.standing)]
        alpha, gap = (np.array(x) for x in item["curve"])
        curve = TradeOff.from_vertices(np.stack((alpha, np.minimum(alpha + gap, 1)), axis=1))
        grid = np.geomspace(1e-6, 50, 30)
        np.testing.assert_allclose(curve.leakage(grid), pair.curve.leakage(grid), rtol=1e-6)
    assert [number(x[0]) for x in data["totals"]] == pytest.approx(
        [ordinary.totals[name].value for name in data["names"]]
    )


def test_page_says_what_it_rests_on(ordinary: AuditResult) -> None:
    import html as escaping

    page = report.html(ordinary, date="2001-02-03")
    for sentence in (*ordinary.assumptions, ordinary.verdict):
        assert sentence in escaping.unescape(page)
    for words in ("exact", "upper", "heuristic", "No bound on leakage", "2001-02-03", "arXiv"):
        assert words in page
    assert report.html(ordinary, date="2001-02-03") == page


def test_table_is_written_without_scripts(ordinary: AuditResult) -> None:
    page = report.html(ordinary)
    body = page[page.index('<table id="pairs"') :]
    found = re.findall(r'<td class="number strong">([^<]*)</td>', body)
    assert found == [f"{pair.leakage.value:.3f}" for pair in ordinary.ranked]


def test_page_asks_for_nothing_from_outside(hostile: AuditResult, wide: AuditResult) -> None:
    for result in (hostile, wide):
        page = report.html(result)
        reader = Reader(page)
        for tag, attributes in reader.tags:
            assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
            assert not set(LOADING) & set(attributes)
        assert "@import" not in page
        assert "url(" not in page
        assert re.findall(r"https?://[^\"'\s]*", page) == ["http://www.w3.org/2000/svg"]
        policy = dict(reader.tags[[t for t, _ in reader.tags].index("meta") + 2][1])["content"]
        assert policy is not None
        assert policy.startswith("default-src 'none'")


def test_hostile_labels_are_text(hostile: AuditResult) -> None:
    reader = Reader(report.html(hostile))
    assert [tag for tag, _ in reader.tags].count("script") == 2
    assert not [name for _, attributes in reader.tags for name in attributes if name[:2] == "on"]
    assert json.loads(reader.text["data"])["names"] == list(hostile.domain.names)


def test_limits_are_written_as_such(unbounded: AuditResult, independent: AuditResult) -> None:
    for result in (unbounded, independent):
        page = report.html(result)
        cells = re.findall(r"<td[^>]*>(?:<span>)?([^<]*)", page)
        assert not {"nan", "inf", "None", "Infinity"} & set(cells)
        assert not re.search(r"--s:(?!0\.\d|1\.000)|width:(nan|inf)", page)
    assert "<span>∞</span>" in report.html(unbounded)
    assert "<span>∞</span>" not in report.html(independent)
    assert json.loads(Reader(report.html(unbounded)).text["data"])["budgets"] == ["inf"] * 3


def test_size_and_rows(wide: AuditResult) -> None:
    page = report.html(wide)
    assert len(page.encode()) < 3_000_000
    assert page.count("<tr data-i=") == 1560


# ---------------------------------------------------------------- in a browser

PROBE = """
<pre id="probe"></pre><script>
(async () => {
  // Frames are not drawn while the DOM is dumped, so let the page repaint by timer.
  window.requestAnimationFrame = paint => setTimeout(paint, 0);
  const pause = () => new Promise(go => setTimeout(go, 20));
  const all = (q) => Array.from(document.querySelectorAll(q));
  const out = { errors: [], values: {}, totals: {} };
  addEventListener("error", event => out.errors.push(String(event.message)));
  const box = document.getElementById("epsilon-number");
  const type = async text => {
    box.value = text; box.dispatchEvent(new Event("input")); await pause();
  };
  await pause();
  const limits = () => Object.fromEntries(all("#pairs tbody tr").map(
    row => [row.dataset.i, row.cells[5].textContent]));
  const trees = () => Object.fromEntries(all("#totals tbody tr").map(row => [
    row.cells[0].textContent, [row.cells[5].dataset.value, row.cells[6].dataset.value]]));
  out.columns = all("#pairs thead th").map(head => head.dataset.key);
  out.widths = all("#pairs tbody tr").map(row => row.cells.length);
  out.trees = { audited: trees() };
  out.limits = limits();
  out.audited = all("#map td[data-i]").map(cell => cell.dataset.value);
  for (const epsilon of EPSILONS) {
    await type(epsilon);
    out.values[epsilon] = all("#map td[data-i]").map(cell => cell.dataset.value);
    out.trees[epsilon] = trees();
    out.text = document.body.innerText;
    if (/NaN|undefined/.test(out.text)) out.errors.push("NaN at " + epsilon);
  }
  const measure = document.getElementById("measure");
  measure.value = "triad_leakage"; measure.dispatchEvent(new Event("change"));
  await type("0.7");
  out.triad = all("#map td[data-i]").map(cell => cell.dataset.value);
  out.totals = Object.fromEntries(all("#totals tbody tr").map(
    row => [row.cells[0].textContent, row.cells[3].dataset.value]));
  out.limitsElsewhere = limits();
  document.getElementById("epsilon").value = "0.3";
  document.getElementById("epsilon").dispatchEvent(new Event("input"));
  await pause();
  out.slider = box.value;
  document.getElementById("audited").click(); await pause();
  out.restored = all("#pairs tbody tr").map(row => Number(row.dataset.i));
  out.limitsRestored = limits();
  const upper = document.querySelector("#pairs th[data-key=upper] button");
  if (upper) {
    upper.click(); await pause();
    out.byUpper = all("#pairs tbody tr").map(row => Number(row.dataset.i));
  }
  all("#pairs thead button")[1].click(); await pause();
  out.byName = all("#pairs tbody tr").map(row => row.cells[1].textContent);
  out.sorted = all("#pairs th[aria-sort]").map(
    head => [head.dataset.key, head.getAttribute("aria-sort")]);
  const filter = document.getElementById("filter");
  filter.value = "NOTHING LIKE THIS"; filter.dispatchEvent(new Event("input"));
  out.filtered = all("#pairs tbody tr").filter(row => !row.hidden).length;
  filter.value = ""; filter.dispatchEvent(new Event("input"));
  const last = all("#map td[data-i]").pop();
  last.click();
  out.title = document.getElementById("detail-title").textContent;
  last.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true }));
  out.above = document.getElementById("detail-title").textContent;
  out.sentence = document.getElementById("sentence").textContent;
  out.curves = all("#curve path").map(path => path.getAttribute("d").length);
  out.tabbable = all("#map td[tabindex='0']").length;
  delete out.text;
  document.getElementById("probe").textContent = JSON.stringify(out);
})();
</script></body>
"""


BROWSER_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--enable-logging=stderr",
    "--virtual-time-budget=20000",
)


def spelled(epsilon: float) -> str:
    return "inf" if math.isinf(epsilon) else repr(epsilon)


@pytest.fixture(scope="module")
def browse(tmp_path_factory: pytest.TempPathFactory):
    """Open a page without a network and report what the probe saw; fails on console messages."""
    browser = next(
        (
            p
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (p := shutil.which(name))
        ),
        None,
    )
    if browser is None:
        reason = "no headless Chromium was found"
        if os.environ.get("SEEPAGE_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)

    def visit(page: str) -> dict:
        folder: Path = tmp_path_factory.mktemp("page")
        probe = PROBE.replace("EPSILONS", json.dumps([spelled(e) for e in EPSILONS]), 1)
        file = folder / "page.html"
        file.write_text(page.replace("</body>", probe), encoding="utf-8")
        done = subprocess.run(
            [
                browser,
                *BROWSER_OPTIONS,
                "--host-resolver-rules=MAP * ~NOTFOUND",
                f"--user-data-dir={folder / 'profile'}",
                "--dump-dom",
                file.as_uri(),
            ],
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=True,
        )
        assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return json.loads(Reader(done.stdout).text["probe"])

    return visit


@pytest.mark.browser
def test_script_evaluates_what_python_does(browse, ordinary: AuditResult) -> None:
    seen = browse(report.html(ordinary))
    assert seen["errors"] == []
    assert [float(x) for x in seen["audited"]] == pytest.approx(
        [pair.leakage.value for pair in ordinary.pairs], rel=1e-8
    )
    for epsilon in EPSILONS:
        values = [number(x) for x in seen["values"][spelled(epsilon)]]
        expected = [pair.curve.leakage(epsilon) for pair in ordinary.pairs]
        assert values == pytest.approx(expected, rel=1e-7, abs=0)
    triad = [pair.triad.tradeoff().leakage(0.7) for pair in ordinary.pairs]
    assert [number(x) for x in seen["triad"]] == pytest.approx(triad, rel=1e-7)
    totals = {
        name: 0.7 + sum(p.curve.leakage(0.7) for p in ordinary.pairs if p.secret == name)
        for name in ordinary.domain.names
    }
    assert {k: number(v) for k, v in seen["totals"].items()} == pytest.approx(totals, rel=1e-7)
    _check_totals(seen, ordinary)


def _check_totals(seen: dict, result: AuditResult) -> None:
    """Tree and group totals, at the audited budgets and at others, as the planner computes them."""
    names = result.domain.names
    curves = {(pair.secret, pair.released): pair.curve for pair in result.pairs}
    model = LeakageModel.from_curves(result.domain, curves, tree=result.tree)
    audited = {name: seen["trees"]["audited"][name] for name in names}
    assert [number(tree) for tree, _ in audited.values()] == pytest.approx(
        [result.tree_totals[name].value for name in names], rel=1e-7
    )
    assert {number(group) for _, group in audited.values()} == {result.group_total.value}
    for epsilon in EPSILONS:
        found = seen["trees"][spelled(epsilon)]
        for position, method in enumerate(("tree", "group")):
            expected = total_leakage(model, dict.fromkeys(names, epsilon), method=method)
            assert [number(found[name][position]) for name in names] == pytest.approx(
                [expected[name] for name in names], rel=1e-7, abs=0
            ), (epsilon, method)


@pytest.fixture(scope="module")
def records() -> dict[str, list[str]]:
    rng = np.random.default_rng(7)
    hidden = rng.integers(0, 3, 300)
    return {
        name: [f"v{x}" for x in np.where(rng.random(300) < keep, hidden, rng.integers(0, 3, 300))]
        for name, keep in {"a": 0.9, "b": 0.6, "c": 0.3, "d": 0.0}.items()
    }


@pytest.mark.browser
def test_limits_belong_to_the_audited_budgets(browse, records: dict[str, list[str]]) -> None:
    result = audit(records, epsilon={"a": 1.0, "b": 0.7, "c": 2.0, "d": 1.5})
    seen = browse(report.html(result))
    assert seen["errors"] == []
    assert seen["columns"].index("upper") == 5
    told = {str(i): wording.limits(pair.sampled) for i, pair in enumerate(result.pairs)}
    assert seen["limits"] == seen["limitsRestored"] == told
    # At 0.7 only the reports of b have their audited budget.
    assert seen["limitsElsewhere"] == {
        str(i): told[str(i)] if pair.released == "b" else "–" for i, pair in enumerate(result.pairs)
    }
    upper = [p.sampled.interval.upper for i in seen["byUpper"] if (p := result.pairs[i]).sampled]
    assert len(upper) == 12
    assert upper == sorted(upper, reverse=True)
    _check_totals(seen, result)


@pytest.mark.browser
@pytest.mark.parametrize("why", ["not wanted", "weights"])
def test_page_without_limits(browse, records: dict[str, list[str]], why: str) -> None:
    if why == "weights":
        weights = [1 + i % 3 for i in range(300)]
        result = audit({**records, "w": weights}, weights="w")
    else:
        result = audit(records, confidence=None)
    seen = browse(report.html(result))
    assert seen["errors"] == []
    assert "upper" not in seen["columns"]
    assert set(seen["widths"]) == {len(seen["columns"])} == {10}
    assert [float(x) for x in seen["audited"]] == pytest.approx(
        [pair.leakage.value for pair in result.pairs], rel=1e-8
    )
    _check_totals(seen, result)


@pytest.mark.browser
def test_script_sorts_filters_and_selects(browse, hostile: AuditResult) -> None:
    seen = browse(report.html(hostile))
    names = hostile.domain.names
    assert seen["errors"] == []
    shown = [hostile.pairs[i].leakage.value for i in seen["restored"]]
    assert shown == sorted(shown, reverse=True)
    assert seen["sorted"] == [["released", "ascending"]]
    runs = [a for a, b in zip(seen["byName"], [None, *seen["byName"]], strict=False) if a != b]
    assert sorted(runs) == sorted(names)
    assert seen["filtered"] == 0
    assert seen["slider"] == "2"
    assert seen["title"] == f"{names[-2]} → {names[-1]}"
    assert seen["above"] == f"{names[-2]} → {names[-3]}"
    assert seen["sentence"].startswith(f"Releasing “{names[-2]}” at ε = 1")
    assert min(seen["curves"]) > 100
    assert seen["tabbable"] == 1


@pytest.mark.browser
@pytest.mark.parametrize("name", ["unbounded", "independent"])
def test_script_survives_the_limits(browse, request: pytest.FixtureRequest, name: str) -> None:
    result: AuditResult = request.getfixturevalue(name)
    seen = browse(report.html(result))
    assert seen["errors"] == []
    for epsilon in EPSILONS:
        values = [number(x) for x in seen["values"][spelled(epsilon)]]
        expected = [pair.curve.leakage(epsilon) for pair in result.pairs]
        assert values == pytest.approx(expected, rel=1e-7, abs=0)
    _check_totals(seen, result)
