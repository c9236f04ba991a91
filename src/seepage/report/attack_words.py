"""Attacks in the words that text, charts and pages share."""

from __future__ import annotations

from seepage.plan.attack_report import AttackReport

METHODS = {
    "joint": "from the joint distribution that the attackers are given",
    "tree": "if the data follow the dependency tree",
    "group": "the sum of the budgets seen, whatever the data",
}


def percent(value: float) -> str:
    """A share with one digit; never 0 or 100 % by rounding."""
    shown = round(100 * value, 1)
    if shown == 100 and value < 1:
        return ">99.9%"
    if shown == 0 and value > 0:
        return "<0.1%"
    return f"{shown:.1f}%"


def points(value: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    shown = round(100 * value, 1)
    return "0.0" if shown == 0 else f"{shown:+.1f}".replace("-", "−")


def about(result: AttackReport) -> str:
    """What was attacked, on one line."""
    trained = (
        f"{result.training:,} records known" if result.training else "a joint distribution known"
    )
    kind = "held out" if result.held_out else "drawn from it"
    others = len(result.attributes)
    seen = f"{others} column{'' if others == 1 else 's'} seen"
    return (
        f"{result.source}: secret {result.secret!r} of {len(result.values)} values, {seen}, "
        f"{trained}, {result.evaluated:,} attacked ({kind})"
    )
