"""Signals and full disks while files are written: all files, or none, and nothing hidden."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

STALLING = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever started the tests
from seepage import cli
real = {owner}.{name}
calls = []
def stalled(*given, **options):
    if {before}:
        found = None
    else:
        found = real(*given, **options)
    calls.append(given)
    if len(calls) == {call}:
        print("here", flush=True)
        time.sleep(60)
    return real(*given, **options) if {before} else found
{owner}.{name} = stalled
sys.argv[1:] = {arguments!r}
cli.main()
"""
"""The command line, which waits at one call to be ended; then the signal does its work."""

WHERE = {
    "while the first file is open": ("import os", "os", "fsync", 1),
    "while the second file is open": ("import os", "os", "fsync", 2),
    "before the first move": ("from pathlib import Path", "Path", "replace", 1),
    "before a file is there": ("import seepage.results", "seepage.results", "temporary_name", 2),
}

OPEN = dict(zip(WHERE, (1, 2, 2, 1), strict=True))
"""How many temporary files there are."""


def started(folder: Path, where: str, *, before: bool) -> subprocess.Popen[str]:
    imports, owner, name, call = WHERE[where]
    arguments = ["count", "people.csv", "--out", "a.counts", "--write-domain", "domain.yaml"]
    code = STALLING.format(owner=owner, name=name, call=call, before=before, arguments=arguments)
    process = subprocess.Popen(
        [sys.executable, "-c", f"{imports}\n{code}"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    return process


@pytest.mark.parametrize(
    ("where", "number", "before"),
    [
        ("while the first file is open", signal.SIGTERM, True),
        ("while the second file is open", signal.SIGTERM, False),
        ("before the first move", signal.SIGTERM, True),
        ("before a file is there", signal.SIGTERM, False),
        ("while the second file is open", signal.SIGHUP, True),
        ("while the second file is open", signal.SIGINT, True),
    ],
)
def test_a_signal_during_the_write_leaves_nothing(
    people: Path, where: str, number: signal.Signals, before: bool
) -> None:
    folder = people.parent
    (folder / "a.counts").write_text("an old one")
    process = started(folder, where, before=before)
    hidden = [path for path in folder.iterdir() if path.name.startswith(".")]
    assert len(hidden) == OPEN[where]
    process.send_signal(number)
    out, err = process.communicate(timeout=50)
    assert process.returncode == 128 + number
    assert (out, err) == ("", "")
    assert sorted(path.name for path in folder.iterdir()) == ["a.counts", "people.csv"]
    assert (folder / "a.counts").read_text() == "an old one"


def test_a_second_signal_does_not_break_the_cleaning_up(people: Path) -> None:
    code = """
import os, signal
from pathlib import Path
real = Path.unlink
def unlink(self, *given, **options):
    os.kill(os.getpid(), signal.SIGTERM)
    return real(self, *given, **options)
Path.unlink = unlink
def fsync(handle):
    os.kill(os.getpid(), signal.SIGTERM)
os.fsync = fsync
import sys
sys.argv[1:] = ["count", "people.csv", "--out", "a.counts"]
from seepage import cli
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=people.parent, check=False)
    assert done.returncode == 143
    assert [path.name for path in people.parent.iterdir()] == ["people.csv"]


def test_a_signal_that_is_ignored_stays_so() -> None:
    code = """
import signal
from seepage.cli._run import end_in_order
signal.signal(signal.SIGHUP, signal.SIG_IGN)
end_in_order()
print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)
print(signal.getsignal(signal.SIGTERM) not in {signal.SIG_IGN, signal.SIG_DFL})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\nTrue\n"


def test_a_full_disk_leaves_nothing(people: Path) -> None:
    """A limit for the length of files stands for the disk: the page is longer, the table is not."""
    code = """
import resource, sys
from seepage import cli
sys.argv[1:] = ["audit", "people.csv", "--csv", "a.csv", "--html", "a.html"]
resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))
cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        cwd=people.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    reason = os.strerror(errno.EFBIG)
    assert done.stderr == (
        f"error: expected --html to be written to 'a.html', got an error: {reason}\n"
    )
    assert [path.name for path in people.parent.iterdir()] == ["people.csv"]
