"""Bayes with a learned population against attackers that learn, cell by cell.

    python reproduce/attackers.py --out out
    python reproduce/attackers.py --only ACS Nursery --learners boosting

No table of a paper: the numbers behind docs/attacks.md. Every attribute gets k-ary randomised
response with the budget ε; the secret is guessed from the reports of all the others, for the same
held-out records by every attacker. Guesses that only one of two attackers has right are counted
(McNemar), and the two-sided exact p-values are compared with 5 % divided by the number of cells.
Writes attackers.csv.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from common import NO_DATA, arguments, data_file, markdown, write_csv
from datasets import ADULT_NAMES, ADULT_NUMBERS, BINS
from figure10 import survey
from seepage.attack.bayes import posterior
from seepage.collect.designs import independent
from seepage.plan.attack_case import Case, prepare_case
from seepage.plan.attack_models import ask, fit_attacker, fit_pooled, learned_population
from seepage.plan.attack_setting import Setting
from seepage.tables import load

SEED, FAMILY = 1, 0.05
EPSILONS = (1.0, 2.0, 5.0, math.inf)
RECORDS, COPIES = 6000, 10
SETS = {
    "Adult": ("adult/adult.data", ("income", "marital-status", "sex", "education")),
    "ACS": ("acs/national2019.csv", ("marital", "sex", "education", "age")),
    "Nursery": ("nursery/nursery.data", ("outcome", "input1")),
}
# The TabTransformer takes a minute or two for each of these.
LONG = {("Adult", "income", 5.0), ("Adult", "marital-status", 5.0), ("ACS", "marital", 5.0),
        ("Nursery", "outcome", 5.0)}  # fmt: skip


def table(name: str, path: Path) -> Any:
    """The records, with a domain: Adult as in Table III, ACS as in Figure 10."""
    if name == "ACS":
        import polars as pl

        people = survey(path)
        values = {
            column: np.array(people.domain[column].categories)[people.codes[:, i]]
            for i, column in enumerate(people.domain.names)
        }
        return load(pl.DataFrame(values), domain=people.domain)
    if name == "Nursery":
        names = [f"input{i}" for i in range(8)] + ["outcome"]
        return load(path, header=False, names=names)
    return load(
        [path, path.parent / "adult.test"], header=False, names=ADULT_NAMES, null_values=("?",),
        missing="drop", strip=".", exclude=["fnlwgt"], bins=dict.fromkeys(ADULT_NUMBERS, BINS),
    )  # fmt: skip


def case_of(setting: Setting, records: Any, learners: list[str]) -> Case:
    return prepare_case(
        setting, records, names=("bayes", *learners), joint=None, tree=None, draw="held-out",
        share=0.3, most=RECORDS, copies=COPIES, confidence=0.95, rng=SEED, stage=None, step=None,
        reading={},
    )[1]  # fmt: skip


def compared(name: str, records: Any, secret: str, learners: list[str]) -> Iterator[dict[str, Any]]:
    """A row for every ε and learner."""
    case, sketches = None, None
    for epsilon in EPSILONS:
        setting = Setting(independent(records.domain, epsilon), secret)
        if case is None:
            case = case_of(setting, records, learners)
            sketches = learned_population(case, setting)
        assert sketches is not None
        reports = setting.plan.randomize_codes(case.evaluated, rng=case.rng(1))
        seen, truth = setting.observe(reports), setting.secret_codes(case.evaluated)
        population = setting.population(case.world.codes)
        beliefs, logs = fit_pooled(case, setting, sketches, exact=True).answer(seen)
        ours = beliefs.argmax(axis=1) == truth
        assert logs is not None
        remembered = posterior(population.prior, logs).argmax(axis=1)
        sample = float((remembered == truth).mean())
        for learner in learners:
            if learner == "tabtransformer" and (name, secret, epsilon) not in LONG:
                continue
            model = fit_attacker(learner, case, setting, population, None)
            theirs = ask(model, seen)[0].argmax(axis=1) == truth
            yield {
                "data": name, "secret": secret, "epsilon": epsilon, "learner": learner,
                "records": len(truth), "prior": float((truth == population.prior.argmax()).mean()),
                "sample": sample, "bayes": float(ours.mean()), "learned": float(theirs.mean()),
                **paired(ours, theirs),
            }  # fmt: skip


def paired(ours: np.ndarray, theirs: np.ndarray) -> dict[str, float]:
    """The difference in right guesses, its standard error, and McNemar's exact p-value."""
    from scipy.stats import binomtest

    only_ours, only_theirs = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    apart, n = only_ours + only_theirs, len(ours)
    difference = (only_ours - only_theirs) / n
    error = math.sqrt(max(apart / n - difference**2, 0.0) / n)
    p = float(binomtest(only_ours, apart).pvalue) if apart else 1.0
    return {"only_bayes": only_ours, "only_learned": only_theirs, "error": error, "p": p}


def parse() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", default=list(SETS), choices=list(SETS))
    learners = ["boosting", "tabtransformer"]
    parser.add_argument("--learners", nargs="+", default=learners, choices=learners)
    return parser.parse_args()


def main() -> None:
    options = parse()
    rows: list[dict[str, Any]] = []
    for name in options.only:
        file, secrets = SETS[name]
        path = data_file(options.data, file)
        if path is None:
            print(NO_DATA.format(what=name, file=file))
            continue
        records = table(name, path)
        for secret in secrets:
            for row in compared(name, records, secret, options.learners):
                rows.append(row)
                print(
                    *(f"{v:.4g}" if isinstance(v, float) else v for v in row.values()), flush=True
                )
    if not rows:
        return
    write_csv(options.out / "attackers.csv", rows)
    limit = FAMILY / len(rows)
    print(markdown(
        ("data", "secret", "ε", "learner", "prior", "sample", "Bayes", "learner's", "p"),
        [
            (
                r["data"], r["secret"], f"{r['epsilon']:g}", r["learner"],
                *(f"{100 * r[key]:.1f}" for key in ("prior", "sample", "bayes", "learned")),
                f"{r['p']:.2g}" + (" *" if r["p"] < limit else ""),
            )
            for r in rows
        ],
        texts=4,
    ))  # fmt: skip
    print(f"* significant at {FAMILY:g}/{len(rows)} = {limit:.2g}")


if __name__ == "__main__":
    main()
