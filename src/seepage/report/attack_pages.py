"""Self-contained page of an attack; it runs no script."""

from __future__ import annotations

from typing import Any

from seepage.plan.attack_report import AttackReport
from seepage.report import attack_svg, wording
from seepage.report.attack_words import about, percent, points
from seepage.report.templating import render


def attack_page(result: AttackReport, *, date: str | None = None) -> str:
    """Return the page of an attack.

    Parameters
    ----------
    result : AttackReport
    date : str, optional
        Shown in the footer; today by default.
    """
    bound = result.main.bound
    names = [each.name for each in result.main.attackers if each.name != "prior"]
    looks = {name: attack_svg.LOOKS.get(name, "diagonal") for name in names}
    return render(
        "attack.html.j2",
        date=date,
        title=f"Attack on {result.secret} of {result.source}",
        result=result,
        facts=about(result),
        confidence=f"{100 * result.confidence:g} %",
        attackers_chart=attack_svg.attackers_picture(result),
        rows=_rows(result),
        most={
            "accuracy": percent(bound.accuracy),
            "gain": points(bound.accuracy - result.baseline),
            "balanced": percent(bound.balanced_accuracy),
            "leakage": wording.nats(bound.leakage),
        },
        possible=_possible(result.main.best_possible),
        sweep_chart=attack_svg.sweep_picture(result) if result.sweep else "",
        legend=[
            {"name": name, "look": look if look != "exact" else ""} for name, look in looks.items()
        ],
        names=names,
        sweep=_sweep(result, names),
        percent=percent,
    )


def _rows(result: AttackReport) -> list[dict[str, str]]:
    rows = []
    for each in result.main.attackers:
        score = each.score
        ratio = "–" if each.largest_ratio is None else wording.nats(each.largest_ratio)
        rows.append(
            {
                "name": each.name,
                "accuracy": percent(score.accuracy.estimate),
                "limits": f"{percent(score.accuracy.lower)} – {percent(score.accuracy.upper)}",
                "gain": points(score.advantage.estimate),
                "balanced": percent(score.balanced_accuracy),
                "macro_f1": f"{score.macro_f1:.3f}",
                "control": percent(score.control.estimate),
                "control_balanced": percent(score.control_balanced),
                "ratio": ratio,
            }
        )
    return rows


def _possible(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _sweep(result: AttackReport, names: list[str]) -> list[dict[str, Any]]:
    lines = []
    for item in result.sweep:
        found = {each.name: percent(each.score.accuracy.estimate) for each in item.attackers}
        lines.append(
            {
                "epsilon": item.epsilon,
                "cells": [found.get(name, "–") for name in names],
                "possible": _possible(item.best_possible),
                "most": percent(item.bound.accuracy),
                "leakage": item.bound.leakage,
            }
        )
    return lines
