"""Attackers who learn from simulated reports: gradient boosting, and a small transformer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec

from seepage._numeric import FloatArray, IntArray
from seepage.attack import boosted
from seepage.attack.bayes import Model
from seepage.attack.boosted import BoostedTrees, Rows
from seepage.attack.population import Observations
from seepage.errors import MissingDependencyError

Progress = Callable[[int, int], None]
"""Called with steps done and steps in all."""

BOOSTING, TRANSFORMER = "boosting", "tabtransformer"

NEEDED = {
    BOOSTING: boosted.NEEDED,
    TRANSFORMER: {"torch": "PyTorch"},
}
"""Modules that each attacker imports, with what to install."""

IMPORTED = {BOOSTING: boosted.IMPORTED}
"""What is imported of these where that is more than the module itself."""

LEAF = 50
"""Fewest simulated reports of a leaf."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """Simulated reports with the truth.

    Parameters
    ----------
    seen : Observations
    truth : array of int, shape (n,)
        Value of the secret.
    """

    seen: Observations
    truth: IntArray


@dataclass(frozen=True, eq=False)
class BoostingModel:
    """Gradient-boosted trees for reports; see `fit_boosting`.

    Parameters
    ----------
    trees : BoostedTrees
    """

    trees: BoostedTrees

    def predict_proba(self, seen: Observations) -> FloatArray:
        """Belief in each value, shape (n, k); 0 for values that were never met."""
        return self.trees.predict(seen.columns)


def fit_boosting(train: Lesson, check: Lesson, k: int, seed: int, progress: Progress) -> Model:
    """Fit scikit-learn's histogram gradient boosting, reports as categories.

    Parameters
    ----------
    train, check : Lesson
        Boosting stops when it no longer improves on `check`, records not in `train`.
    k : int
        Number of values of the secret.
    seed : int
    progress : callable

    Raises
    ------
    MissingDependencyError
        If scikit-learn is not installed, or cannot be used.
    """
    rows, stop = (Rows(each.seen.columns, each.truth) for each in (train, check))
    progress(0, 1)
    # A few smooth trees: reports are noisy, and what they tell of the secret is little.
    trees = BoostedTrees.fit(rows, stop, sizes=train.seen.column_sizes, k=k, seed=seed, leaf=LEAF)
    progress(1, 1)
    return BoostingModel(trees)


def check_packages(names: Iterable[str]) -> None:
    """Refuse attackers whose packages are not installed, or cannot be used.

    Raises
    ------
    MissingDependencyError
        For the first attacker that needs one.
    """
    asked = [(name, *item) for name in names for item in NEEDED.get(name, {}).items()]
    for name, module, package in asked:  # what is absent is found at once, an import takes a while
        if find_spec(module) is None:
            raise _missing(name, package)
    for name, module, package in asked:
        why = boosted.trouble(IMPORTED.get(name, [module]))
        if why:
            msg = (
                f"expected {package} for the attacker {name!r}, got one that cannot be used: "
                f"{why} (pip install 'seepage[attack]')"
            )
            raise MissingDependencyError(msg)


def missing_torch() -> MissingDependencyError:
    """What to say when PyTorch is not installed."""
    return _missing(TRANSFORMER, "PyTorch")


def _missing(attacker: str, package: str) -> MissingDependencyError:
    msg = (
        f"expected {package} for the attacker {attacker!r}, got none: pip install 'seepage[attack]'"
    )
    return MissingDependencyError(msg)
