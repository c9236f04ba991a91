"""What the scripts of this folder share: arguments, data, comparisons, tables, pictures."""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seepage.report import palette, save_chart

ROOT = Path(__file__).resolve().parents[1]
NO_DATA = (
    "{what} skipped: expected {file} below the folder named by SEEPAGE_DATA, or by --data, "
    "got none."
)
WITHIN, DEVIATION = "within", "deviation"


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for what is written")
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    return parser


def data_file(given: Path | None, name: str) -> Path | None:
    """A file of the data folder: given, named by SEEPAGE_DATA, or beside the repository."""
    places = [given, os.environ.get("SEEPAGE_DATA"), ROOT.parent / "shared" / "data"]
    paths = [Path(place) / name for place in places if place]
    return next((path for path in paths if path.is_file()), None)


def sine_model(k: int) -> np.ndarray:
    """p(x̂ | x) for x = sin(2π x̂) + noise of standard deviation 2, x̂ uniform; k values of each."""
    released = np.arange(k) / k
    secret = np.linspace(-3, 3, k)
    P = np.exp(-((secret[:, np.newaxis] - np.sin(2 * np.pi * released)) ** 2) / (2 * 2.0**2))
    return np.asarray(P / P.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Comparison:
    """One printed value or sentence beside ours.

    `tolerance` says when the two agree; a deviation has a `cause`, so that none is found by nobody.
    """

    quantity: str
    printed: str
    ours: str
    tolerance: str
    verdict: str
    cause: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in {WITHIN, DEVIATION}:
            raise ValueError(f"expected {WITHIN!r} or {DEVIATION!r}, got {self.verdict!r}")
        if self.verdict == DEVIATION and not self.cause:
            raise ValueError(
                f"expected a cause for the deviation of {self.quantity!r}, got none: printed "
                f"{self.printed}, ours {self.ours}"
            )


def agreement(
    quantity: str, printed: str, ours: str, tolerance: str, holds: bool, cause: str = ""
) -> Comparison:
    """A comparison whose test is made by the caller; the cause is kept for a deviation only."""
    verdict = WITHIN if holds else DEVIATION
    return Comparison(quantity, printed, ours, tolerance, verdict, "" if holds else cause)


def digits(quantity: str, printed: str, ours: float, *, cause: str = "") -> Comparison:
    """Agreement to every printed digit, rounded or cut off."""
    decimals = len(printed.partition(".")[2])
    # Half of 1e-9 units of the last digit, for what the decimal form itself cannot hold.
    holds = abs(ours - float(printed)) <= 10.0**-decimals * (1 + 1e-9)
    rounded = f"{ours:.{decimals}f}" == printed
    shown = f"{ours:.{decimals + 2}f}"
    tolerance = "every printed digit" + ("" if rounded or not holds else ", cut off")
    return agreement(quantity, printed, shown, tolerance, holds, cause)


def close(
    quantity: str, printed: str, ours: float, relative: float, *, form: str = ".4g", cause: str = ""
) -> Comparison:
    """Agreement within a share of the printed value."""
    difference = ours / float(printed) - 1
    shown = f"{ours:{form}} ({difference:+.1%})".replace("-", "−")
    holds = abs(difference) <= relative
    return agreement(quantity, printed, shown, f"± {relative:.0%}", holds, cause)


def below(
    quantity: str, limit: float, ours: float, *, form: str = ".4g", cause: str = ""
) -> Comparison:
    """A printed upper limit."""
    return agreement(
        quantity, f"< {limit:g}", f"{ours:{form}}", "as printed", ours < limit, cause
    )  # fmt: skip


@dataclass(frozen=True)
class Listing:
    """A table of the page that has no printed counterpart."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Report:
    """What one table or figure came to; one JSON file each, the page is made of these.

    Parameters
    ----------
    name
        Of the file, such as ``"table3"``.
    item
        As the paper calls it, such as ``"Table III"``.
    title, method
        What it shows, and how it was computed here, in Markdown.
    data
        Named data sets.
    missing
        What the paper shows and is not computed here, each with the reason.
    notes
        Further paragraphs.
    picture
        Name of the picture, as written into the folder of results.
    on_page
        Whether the page shows the picture.
    """

    name: str
    item: str
    title: str
    data: str
    method: str
    comparisons: tuple[Comparison, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    listings: tuple[Listing, ...] = ()
    picture: str = ""
    on_page: bool = False

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Report:
        return cls(
            **{key: given[key] for key in ("name", "item", "title", "data", "method")},
            comparisons=tuple(Comparison(**row) for row in given["comparisons"]),
            missing=tuple(given["missing"]),
            notes=tuple(given["notes"]),
            listings=tuple(
                Listing(table["title"], tuple(table["header"]), tuple(map(tuple, table["rows"])))
                for table in given["listings"]
            ),
            picture=given["picture"],
            on_page=given["on_page"],
        )

    @property
    def deviations(self) -> tuple[Comparison, ...]:
        return tuple(row for row in self.comparisons if row.verdict == DEVIATION)

    def write(self, folder: Path) -> None:
        """Write NAME.json and say in a line what came of it."""
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        write_text(folder / f"{self.name}.json", text + "\n")
        agreed = len(self.comparisons) - len(self.deviations)
        print(f"{self.item}: {agreed} of {len(self.comparisons)} comparisons within tolerance")
        for row in self.deviations:
            print(f"  {row.quantity}: printed {row.printed}, ours {row.ours}")


def read_reports(folder: Path) -> dict[str, Report]:
    """All reports of a folder by name."""
    reports = {}
    for path in sorted(folder.glob("*.json")):
        report = Report.from_dict(json.loads(path.read_text("utf-8")))
        reports[report.name] = report
    return reports


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"wrote {path}")


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path}")


def markdown(header: Sequence[str], rows: Sequence[Sequence[object]], *, texts: int = 1) -> str:
    """A table whose first columns, one unless told, are text and whose others are numbers."""
    lines = [
        "| " + " | ".join(header) + " |",
        "|" + "---|" * texts + "--:|" * (len(header) - texts),
        *("| " + " | ".join(map(str, row)) + " |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def write_picture(chart: Any, path: Path) -> None:
    """Save an Altair chart in the colours and type of the package's own charts."""
    styled = (
        chart.properties(background="white", padding=16)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=palette.INK,
            titleColor=palette.MUTED,
            titleFontWeight="normal",
            gridColor=palette.GRID,
            labelFontSize=11,
            titleFontSize=12,
        )
        .configure_title(
            color=palette.INK,
            subtitleColor=palette.MUTED,
            anchor="start",
            fontSize=14,
            subtitleFontSize=11,
        )
        .configure_legend(labelColor=palette.INK, labelLimit=420, title=None, labelFontSize=11)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    save_chart(styled, path)
    print(f"wrote {path}")
