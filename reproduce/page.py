"""Make the page of the documentation from the JSON files that the other scripts wrote.

    python reproduce/page.py
    python reproduce/page.py --results out --page out/reproduction.md --images ""

Nothing on the page is typed by hand: numbers, verdicts and causes come from reproduce/results,
texts between them from the scripts. `python reproduce/run.py --keep` renews those files.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from common import DEVIATION, ROOT, Comparison, Report, markdown, read_reports, write_text

RESULTS = ROOT / "reproduce" / "results"
PAPERS: dict[str, tuple[str, ...]] = {
    "Dependency Triad": (
        "table3", "table4", "table5", "figure5", "figure6", "figure7", "figure8", "figure9",
        "figure10",
    ),
    "Three-region redaction": ("redaction-figure2", "redaction-figure3", "redaction-figure4"),
    "Attenuation by randomised response": ("attenuation-table1", "attenuation-figure1"),
    "Balancing privacy and utility by tests": tuple(f"privacy-utility-{i}" for i in range(1, 6)),
}  # fmt: skip
INTRO = """\
# The papers' tables and figures, reproduced

<!-- Made by reproduce/page.py from reproduce/results/*.json. Do not edit. -->

Each table and figure is computed by a script of the folder `reproduce/` from named data, and set
beside what its paper prints. `make reproduce` runs all of them and writes pictures, tables and
this page into `out/`; the environment variable `SEEPAGE_DATA` names the folder of the data sets.
Scripts whose data are absent say so, and the others run. It takes about thirteen minutes of
processor time, more than half of it for the neural network of Table V.

*Printed* is the paper's number, or what its text says of a figure whose values it does not list.
*Within* means that ours agrees with it within the tolerance stated in the row; every other row is a
**deviation**, with its cause below the table. What a paper shows and no script computes is listed
as not reproduced.
"""


def letters(comparisons: tuple[Comparison, ...]) -> dict[str, str]:
    """Each cause of a deviation by a letter, in the order of the rows."""
    causes = dict.fromkeys(row.cause for row in comparisons if row.verdict == DEVIATION)
    return {cause: chr(ord("a") + i) for i, cause in enumerate(causes)}


def cells(rows: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Rows with a minus sign before negative numbers; exponents stay as they are."""
    return [tuple(re.sub(r"(?<!\w)-(?=\d)", "−", cell) for cell in row) for row in rows]


def summary(reports: dict[str, Report]) -> str:
    rows = []
    for paper, names in PAPERS.items():
        for name in names:
            if name not in reports:
                rows.append((paper, name, "not run here", "", "", ""))
                continue
            report = reports[name]
            away = len(report.deviations)
            rows.append(
                (
                    paper,
                    f"[{report.item}](#{report.name})",
                    report.data,
                    f"{len(report.comparisons) - away} of {len(report.comparisons)}",
                    str(away or "–"),
                    str(len(report.missing) or "–"),
                )
            )
    header = ("paper", "item", "data", "within", "deviations", "not reproduced")
    return markdown(header, rows, texts=3)


def section(report: Report, images: str) -> str:
    parts = [f'<a id="{report.name}"></a>\n\n### {report.item}: {report.title}\n']
    parts.append(f"Data: {report.data}. {report.method}\n")
    if report.on_page and images:
        parts.append(f"![{report.item}: {report.title}]({images}/{report.picture})\n")
    if report.comparisons:
        marks = letters(report.comparisons)
        rows = [
            (
                row.quantity,
                row.tolerance,
                f"**deviation** ({marks[row.cause]})" if row.verdict == DEVIATION else row.verdict,
                row.printed,
                row.ours,
            )
            for row in report.comparisons
        ]
        header = ("quantity", "tolerance", "verdict", "printed", "ours")
        parts.append(markdown(header, cells(rows), texts=3))
        if marks:
            parts.append("\n".join(f"* ({mark}) {cause}." for cause, mark in marks.items()) + "\n")
    if report.missing:
        parts.append("Not reproduced:\n\n" + "\n".join(f"* {t}" for t in report.missing) + "\n")
    parts += [f"{text}\n" for text in report.notes]
    for listing in report.listings:
        parts.append(f"{listing.title}:\n\n" + markdown(listing.header, cells(listing.rows)))
    return "\n".join(parts)


def page(reports: dict[str, Report], images: str) -> str:
    """The whole page; `images` is the folder of the pictures as seen from it, empty for none."""
    parts = [INTRO, summary(reports)]
    for paper, names in PAPERS.items():
        found = [reports[name] for name in names if name in reports]
        if found:
            parts.append(f"## {paper}\n")
            parts += [section(report, images) for report in found]
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "reproduction.md")
    parser.add_argument("--images", default="images", help="folder of the pictures, seen from it")
    options = parser.parse_args()
    write_text(options.page, page(read_reports(options.results), options.images))


if __name__ == "__main__":
    main()
