"""Messages in the words of the command line: arguments of functions become options.

The functions behind a verb name their own arguments: "expected alpha in [0, 1]". A verb says once
what its user typed for each, and every message that leaves it is rewritten.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping

from seepage.errors import CapacityError, InfeasibleError, InvalidInputError

_QUOTED = re.compile(r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
_LISTED = re.compile(r"\(\w+(?:, \w+)*\)")
_EXPECTED = r"(\bexpected (?:(?:one|no|a finite) )?)(?:an )?"
_WHOLE = r"(?![\w-])(?! of (?:--|[A-Z]{2}|test \d))"  # "n of --test" was renamed where it was read


@contextlib.contextmanager
def in_options(options: Mapping[str, str]) -> Iterator[None]:
    """Let errors of the package name options.

    Parameters
    ----------
    options : mapping of str to str
        Name of an argument, or ``name=value`` of one, to what is typed for it.
    """
    try:
        yield
    except (InvalidInputError, CapacityError, InfeasibleError) as error:
        error.args = (renamed(str(error), options), *error.args[1:])
        raise


def renamed(message: str, options: Mapping[str, str]) -> str:
    """Return a message with options in place of arguments; what stands in quotes is kept.

    A name that can be no English word, such as ``alpha0`` or ``known_sd``, is replaced everywhere;
    ``n`` and ``power`` only where they are names: right after ``expected``, before an equals sign,
    and in lists in parentheses.
    """
    parts = _QUOTED.split(message)
    parts[::2] = [_renamed(part, options) for part in parts[::2]]
    return "".join(parts)


def _renamed(text: str, options: Mapping[str, str]) -> str:
    for name in sorted(options, key=len, reverse=True):
        word = re.escape(name) + _WHOLE
        option = options[name].replace("\\", r"\\")  # of a file name
        if name.isalpha():
            text = re.sub(_EXPECTED + word, rf"\g<1>{option}", text)
            # "TEST:effect=VALUE,n=RECORDS" is what is typed already.
            text = re.sub(rf"(?<![\w,:-]){word} ?= ?", f"{option} ", text)
        else:
            text = re.sub(rf"(?<![\w-]){word}", option, text)
    text = _LISTED.sub(lambda m: _listed(m[0], options), text)
    return re.sub(r"\bgot None\b", "got none", text)


def _listed(text: str, options: Mapping[str, str]) -> str:
    names = text[1:-1].split(", ")
    return f"({', '.join(options[x] for x in names)})" if set(names) <= set(options) else text
