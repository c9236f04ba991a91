"""What every verb shares while it runs: exit codes, errors as one line, a progress bar."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

import typer

from seepage.cli._names import in_options
from seepage.errors import CapacityError, InfeasibleError, SeepageError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

TARGET_MISSED = 1
BAD_INPUT = 2
DEFECT = 3
INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143

EXIT_CODES = (
    f"{BAD_INPUT} bad input, {DEFECT} a defect of seepage, {INTERRUPTED} interrupted, "
    f"{PIPE_CLOSED} the reader of a pipe went away, {TERMINATED} terminated"
)
"""What every verb says in its help, after its own codes 0 and 1."""

CAPACITY_HINT = "hint: see the options --columns, --exclude, --bins, --n-bins and --min-count"

PROGRESS_DELAY = 1.0
"""Seconds of work before a progress bar appears."""


def one_line(message: object) -> str:
    """Return a message on one line, with control and invisible characters written as escapes."""
    return "".join(
        char if char.isprintable() else " " if char in "\r\n\t" else _escape(char)
        for char in str(message).strip()
    )


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def say(message: object) -> None:
    """Write one line to standard error; nobody may be left to read it."""
    with contextlib.suppress(OSError):
        typer.echo(one_line(message), err=True)


def mend_streams() -> None:
    """Make standard streams that were closed before the start lead nowhere.

    The next file to be opened would get their number, and what the libraries print would end up
    in it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with contextlib.suppress(OSError):
                os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open to the end
            setattr(sys, name, stream)


def end_in_order() -> None:
    """Turn signals that ask to end (SIGTERM, SIGHUP) into an exit that cleans up.

    A signal that is ignored, as under ``nohup``, stays so.
    """
    for name in ("SIGTERM", "SIGHUP"):  # the second one is not everywhere
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # nor does a second one break the cleaning up
    raise SystemExit(128 + number)


def stdout_leads_nowhere() -> bool:
    """Whether standard output was closed at the start; ``> /dev/null`` is a choice and is not."""
    return getattr(sys.stdout, "name", None) == os.devnull


@contextlib.contextmanager
def guard(
    *, debug: bool, options: Mapping[str, str] | None = None, table: bool = True
) -> Iterator[None]:
    """Turn every way in which a verb can fail into one line and an exit code.

    Parameters
    ----------
    debug : bool
        Let exceptions through, with their traceback.
    options : mapping of str to str, optional
        What is typed for the arguments that messages name; see `seepage.cli._names`.
    table : bool
        Whether the verb reads a table, and so has the options that make it smaller.
    """
    try:
        with in_options(options or {}):
            yield
        sys.stdout.flush()
    except (typer.Exit, typer.Abort):
        raise
    except BrokenPipeError:
        _forget_stdout()
        raise typer.Exit(PIPE_CLOSED) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if debug:
            raise
        raise typer.Exit(_report(error, CAPACITY_HINT if table else "")) from None


def _report(error: Exception, hint: str) -> int:
    if isinstance(error, InfeasibleError):
        say(f"target missed: {error}")
        return TARGET_MISSED
    if isinstance(error, SeepageError):
        say(f"error: {error}")
        if isinstance(error, CapacityError) and hint:
            say(hint)
        return BAD_INPUT
    if isinstance(error, OSError):
        reason = error.strerror or str(error) or type(error).__name__
        say(f"error: {reason}" + (f": {error.filename!r}" if error.filename else ""))
        return BAD_INPUT
    if isinstance(error, MemoryError):
        say("error: expected the work to fit into memory, but it ran out")
        if hint:
            say(hint)
        return BAD_INPUT
    say(f"internal error: {type(error).__name__}: {error}")
    say("hint: this is a defect of seepage; please report it with the output of --debug")
    return DEFECT


def _forget_stdout() -> None:
    """Keep the interpreter from complaining about the closed pipe when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Work:
    """A progress bar on standard error that appears only when the work lasts.

    Nothing is shown when standard error is not a terminal, or when `quiet`.

    Parameters
    ----------
    quiet : bool
        Show nothing in any case.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr.isatty()
        self._lock = threading.Lock()
        self._closed = False
        self._label = ""
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Work:
        if self._wanted:
            self._timer = threading.Timer(PROGRESS_DELAY, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._bar is not None:
                self._bar.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        with self._lock:
            if self._closed:
                return
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self._label, total=None)
            self._bar.start()

    def stage(self, label: str) -> None:
        """Name what is being done now, of unknown length."""
        self._label = label
        with self._lock:
            if self._bar is not None and self._task is not None:
                self._bar.update(self._task, description=label, total=None)

    def step(self, done: int, total: int) -> None:
        """Report `done` of `total` steps of the current stage."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)
