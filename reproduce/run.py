"""Run every script of this folder, one after the other, and make the page of what they found.

    python reproduce/run.py --out out
    python reproduce/run.py --only table3 figure6 --keep

Scripts whose data are absent say what is missing; the others run. With --keep the results replace
those of the repository: reproduce/results, docs/images and docs/reproduction.md. Ends with an error
if a script does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from common import ROOT, arguments, read_reports, write_text
from page import RESULTS, page

FOLDER = Path(__file__).resolve().parent
# In this order: what needs no data first, then by what it takes.
SCRIPTS = (
    "attenuation", "redaction", "privacy_utility", "figure8", "table3", "figure5", "figure6",
    "figure7", "table4", "figure9", "figure10", "table5",
)  # fmt: skip


def keep(out: Path) -> None:
    """Take the results of this run over into the repository."""
    RESULTS.mkdir(exist_ok=True)
    for name, report in read_reports(out).items():
        shutil.copyfile(out / f"{name}.json", RESULTS / f"{name}.json")
        if report.on_page:
            shutil.copyfile(out / report.picture, ROOT / "docs" / "images" / report.picture)
    write_text(ROOT / "docs" / "reproduction.md", page(read_reports(RESULTS), "images"))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="*", choices=SCRIPTS, default=SCRIPTS, metavar="SCRIPT")
    parser.add_argument("--keep", action="store_true", help="renew the results in the repository")
    options = parser.parse_args()
    settings = ["--out", str(options.out)]
    if options.data:
        settings += ["--data", str(options.data)]
    failed = []
    begin = time.perf_counter()
    for i, name in enumerate(options.only, start=1):
        print(f"[{i}/{len(options.only)}] {name} ...", flush=True)
        start = time.perf_counter()
        command = [sys.executable, str(FOLDER / f"{name}.py"), *settings]
        # Threads of the linear algebra gain nothing on these small tables.
        environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
        if subprocess.run(command, check=False, env=environment).returncode:
            failed.append(name)
        print(f"[{i}/{len(options.only)}] {name}: {time.perf_counter() - start:.0f} s", flush=True)
    found = read_reports(options.out) if options.out.is_dir() else {}
    if found:
        write_text(options.out / "reproduction.md", page(found, "."))
    print(f"{(time.perf_counter() - begin) / 60:.1f} minutes")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    if options.keep:
        keep(options.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
