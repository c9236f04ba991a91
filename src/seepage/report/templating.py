"""Templates to self-contained pages.

Everything that comes from the data reaches a page as text: the templates escape it, and embedded
JSON has no character that could end its element.
"""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

from seepage.report import wording
from seepage.results import plain

DIGITS = 9
"""Significant digits of the numbers in a page."""

STANDINGS = {
    "exact": "equal to the quantity under the stated assumptions",
    "upper": "never below the exact quantity",
    "lower": "never above the exact quantity",
    "estimate": "computed from a sample; uncertain by sampling",
    "heuristic": "an indicator that bounds nothing",
}


def number(value: float) -> float | None:
    """Round to what a page needs; None for NaN."""
    if math.isnan(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def _script_json(payload: Any) -> str:
    """JSON that is safe inside a script element, whatever the labels are."""
    text = json.dumps(plain(payload), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # A lone surrogate cannot be written into a file; its escape is JSON too.
    return text.encode("utf-8", errors="backslashreplace").decode("utf-8")


def _finished(value: Any) -> Any:
    """Write what a page cannot hold as escapes; what we marked as safe has none of it."""
    return wording.drawable(value) if type(value) is str else value


def render(
    template: str,
    *,
    date: str | None,
    script: str | None = None,
    payload: Any = None,
    **context: Any,
) -> str:
    """Return a page from one of our templates.

    Parameters
    ----------
    template : str
        File name; extends ``page.html.j2``.
    date : str, optional
        Shown in the footer; today by default.
    script : str, optional
        File name of the page's script; without one the page allows no script at all.
    payload : object, optional
        What the script reads, as JSON.
    **context
        For the template.
    """
    import jinja2
    from markupsafe import Markup

    import seepage

    loader = jinja2.PackageLoader("seepage.report", "templates")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finished,
    )
    environment.filters.update(nats=wording.nats, budget=wording.budget)
    environment.globals.update(
        strength=wording.strength,
        share=wording.share,
        against=wording.against,
        limits=wording.limits,
        inf=math.inf,
    )

    def source(name: str) -> Markup:
        return Markup(loader.get_source(environment, name)[0])  # our own files, not data

    return environment.get_template(template).render(
        payload=Markup(_script_json(payload)),
        style=source("page.css"),
        script=None if script is None else source(script),
        date=date or datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        version=seepage.__version__,
        standings=STANDINGS,
        **context,
    )
