"""What the scripts of this folder share: arguments, data, tables, pictures."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seepage.report import palette, save_chart

ROOT = Path(__file__).resolve().parents[1]
NO_DATA = (
    "{what} skipped: expected {file} below the folder named by SEEPAGE_DATA, or by --data, "
    "got none."
)


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


def markdown(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    lines = [
        "| " + " | ".join(header) + " |",
        "|---|" + "--:|" * (len(header) - 1),
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
