"""Where results go: checked before the work, rendered whole, then written.

No file is opened before everything that will be written exists in memory. All files are written
under temporary names first and moved when each of them is there, so that an error leaves none, and
neither does a signal that asks to end. Only ``kill -9`` may leave a file ``.NAME.xxxxxxxx``.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seepage.cli._run import stdout_leads_nowhere
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.cli._options import FileOptions
    from seepage.results import Result

Render = Callable[["Result"], bytes]

STDOUT = "-"
CHART_SUFFIXES = (".png", ".svg")
MAIN = "--out"
"""The option of the file that others tell about: it appears last."""


@dataclass(frozen=True)
class Output:
    """One thing to write.

    Parameters
    ----------
    option : str
        The option that asked for it, for messages.
    path : Path or None
        Where it goes; None is standard output.
    render : callable
        Makes the content from the result.
    folder : bool
        Whether the parent folder may be created.
    """

    option: str
    path: Path | None
    render: Render
    folder: bool = False


def csv_or_json(out: Path) -> Render:
    """Choose how a file of results is written by its ending.

    Raises
    ------
    InvalidInputError
        If it is neither .csv nor .json.
    """
    render = {".csv": as_csv, ".json": as_json}.get(out.suffix.lower())
    if render is None:
        msg = f"expected --out FILE.csv or FILE.json, got {str(out)!r}"
        raise InvalidInputError(msg)
    return render


def requested(
    files: FileOptions, out: Path | None = None, render: Callable[[Path], Render] = csv_or_json
) -> list[Output]:
    """List the outputs that the options of every verb ask for.

    Parameters
    ----------
    files : FileOptions
    out : Path, optional
        The main file of the verb; it comes first.
    render : callable
        Chooses what makes the content of `out` by its name.

    Raises
    ------
    InvalidInputError
        If a chart, or `out`, has an unknown ending.
    """
    outputs = []
    if out is not None:
        outputs.append(Output(MAIN, target(out), render(out)))
    if files.json is not None:
        outputs.append(Output("--json", target(files.json), as_json))
    if files.csv is not None:
        outputs.append(Output("--csv", target(files.csv), as_csv))
    if files.html is not None:
        outputs.append(Output("--html", target(files.html), as_html))
    for chart in files.chart or ():
        suffix = chart.suffix.lower()
        if suffix not in CHART_SUFFIXES:
            msg = f"expected --chart FILE.png or FILE.svg, got {str(chart)!r}"
            raise InvalidInputError(msg)
        outputs.append(Output("--chart", chart, as_chart(suffix)))
    return outputs


def whole_folder(folder: Path | None, contents: Mapping[str, Render]) -> list[Output]:
    """List the outputs of ``--out FOLDER``: file names, and what makes each of them."""
    if folder is None:
        return []
    return [Output("--out", folder / name, make, True) for name, make in contents.items()]


def target(path: str | Path) -> Path | None:
    """Return where an output goes; None is standard output, under any of its names."""
    return None if str(path) == STDOUT or _descriptor(Path(path)) == 1 else Path(path)


def _descriptor(path: Path) -> int | None:
    """The number of an open file that a path such as ``/dev/fd/3`` stands for."""
    text = str(path)
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if text == f"/dev/{name}":
            return number
    match = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d{1,9})", text)
    return int(match[1]) if match else None


def _is_device(path: Path) -> bool:
    """Whether a path is written to as it is: a pipe, a terminal, /dev/null, an open file.

    Asked before links are resolved: the link of a pipe leads to a name that does not exist.
    """
    return _descriptor(path) is not None or (
        path.exists() and not path.is_file() and not path.is_dir()
    )


def check(outputs: Iterable[Output], inputs: Iterable[Path]) -> None:
    """Refuse outputs that could not be written, or that would destroy something.

    Parameters
    ----------
    outputs : iterable of Output
    inputs : iterable of Path
        Files that are read, and so must not be written.

    Raises
    ------
    InvalidInputError
        The message names the option and the path.
    """
    sources = {os.path.realpath(path): path for path in inputs}
    taken: dict[str, str] = {}
    for output in outputs:
        key = STDOUT if output.path is None else os.path.realpath(output.path)
        shown = "standard output" if output.path is None else repr(str(output.path))
        if key in taken:
            msg = f"expected different targets, got {shown} for {taken[key]} and {output.option}"
            raise InvalidInputError(msg)
        taken[key] = output.option
        if output.path is None:
            if stdout_leads_nowhere():
                msg = f"expected an open standard output for {output.option}, got a closed one"
                raise InvalidInputError(msg)
            continue
        if key in sources or _is_one_of(output.path, sources.values()):
            msg = f"expected {output.option} to differ from the files that are read, got {shown}"
            raise InvalidInputError(msg)
        _check_writable(output, shown)


def _is_one_of(path: Path, sources: Iterable[Path]) -> bool:
    """Whether `path` is the same file under another name (a hard link, another spelling)."""
    if not path.exists():
        return False
    return any(source.exists() and path.samefile(source) for source in sources)


def _check_writable(output: Output, shown: str) -> None:
    given = Path(str(output.path))
    if _is_device(given):
        number = _descriptor(given)
        if not os.access(given, os.W_OK) and not (number is not None and _is_open(number)):
            msg = f"expected {output.option} to name a device that may be written, got {shown}"
            raise InvalidInputError(msg)
        return
    path = Path(os.path.realpath(given))
    if path.is_symlink():
        msg = f"expected {output.option} to name a file, got {shown}, a link that leads in a circle"
        raise InvalidInputError(msg)
    if path.is_dir():
        msg = f"expected {output.option} FILE, got the folder {shown}"
        raise InvalidInputError(msg)
    if path.exists() and not os.access(path, os.W_OK):
        msg = f"expected {output.option} to name a file that may be written, got {shown}"
        raise InvalidInputError(msg)
    folder = path.parent
    if output.folder and not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        msg = f"expected an existing folder for {output.option} {shown}, got {str(folder)!r}"
        raise InvalidInputError(msg)
    if not os.access(folder, os.W_OK | os.X_OK):
        msg = f"expected a writable folder for {output.option} {shown}, got {str(folder)!r}"
        raise InvalidInputError(msg)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def write(outputs: Iterable[Output], result: Result) -> list[Path]:
    """Render everything, then write everything: all files appear, or none does.

    What ``--out`` asks for appears last. Standard output and devices cannot be taken back: they
    are written when all files are ready.

    Returns
    -------
    list of Path
        The files written, in the order of `outputs`.

    Raises
    ------
    InvalidInputError
        If something cannot be written; the message names the option and the path.
    """
    from seepage.results import temporary_name, write_temporary

    rendered = [(output, output.render(result)) for output in outputs]
    made: list[Path] = []  # folders
    staged: list[tuple[Output, Path]] = []
    direct: list[tuple[Output, bytes]] = []
    try:
        for output, content in rendered:
            if output.path is None or _is_device(output.path):
                direct.append((output, content))
                continue
            with _told(output):
                if output.folder and not output.path.parent.exists():
                    output.path.parent.mkdir()
                    made.append(output.path.parent)
                place = os.path.realpath(output.path)  # links are followed, not replaced
                # Noted first: whoever is interrupted while it is written removes it.
                staged.append((output, temporary_name(place)))
                write_temporary(staged[-1][1], content, place)
        for output, content in direct:
            with _told(output):
                _write_through(output.path, content)
        # One by one, so that only those that are not in place yet are removed after an error.
        staged.sort(key=lambda item: item[0].option == MAIN)
        while staged:
            output, temporary = staged[0]
            assert output.path is not None
            with _told(output):
                temporary.replace(os.path.realpath(output.path))
            del staged[0]
    except BaseException:
        for _, temporary in staged:
            temporary.unlink(missing_ok=True)
        for folder in made:
            with contextlib.suppress(OSError):  # not empty: something is in place
                folder.rmdir()
        raise
    return [output.path for output, _ in rendered if output.path is not None]


@contextlib.contextmanager
def _told(output: Output) -> Iterator[None]:
    """Name the option and the path as they were typed, and no temporary name."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        shown = "standard output" if output.path is None else repr(str(output.path))
        reason = error.strerror or type(error).__name__
        msg = f"expected {output.option} to be written to {shown}, got an error: {reason}"
        raise InvalidInputError(msg) from error


def _write_through(path: Path | None, content: bytes) -> None:
    if path is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    number = _descriptor(path)
    if number is not None:
        with open(number, "wb", closefd=False) as stream:
            stream.write(content)
    else:
        path.write_bytes(content)


def _encode(text: str) -> bytes:
    # A file name that is not valid text reaches us with lone surrogates.
    return text.encode("utf-8", errors="replace")


def as_json(result: Result) -> bytes:
    """The result as JSON."""
    return _encode(result.to_json() + "\n")


def as_csv(result: Result) -> bytes:
    """Its main table as CSV."""
    import csv
    import io

    columns = result.columns()
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return _encode(stream.getvalue())


def as_html(result: Result) -> bytes:
    """Its page."""
    return _encode(result.to_html())


def as_chart(suffix: str) -> Render:
    """What makes its main chart, as a file with this ending."""

    def render(result: Result) -> bytes:
        import tempfile

        from seepage import report

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"chart{suffix}"
            report.save_chart(report.chart(result), path)
            return path.read_bytes()

    return render
