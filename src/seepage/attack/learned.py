"""Attackers who learn from simulated reports: gradient boosting, and a small transformer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage._numeric import FloatArray, IntArray
from seepage.attack.bayes import Model
from seepage.attack.population import Observations
from seepage.errors import MissingDependencyError

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier

Progress = Callable[[int, int], None]
"""Called with steps done and steps in all."""

BOOSTING, TRANSFORMER = "boosting", "tabtransformer"

NEEDED = {
    BOOSTING: {"sklearn": "scikit-learn", "threadpoolctl": "scikit-learn"},
    TRANSFORMER: {"torch": "PyTorch"},
}
"""Modules that each attacker imports, with what to install."""

MAX_BOOSTED = 255
"""Categories of a column that gradient boosting can take as categories."""

MANY_VALUES = 20
"""Above so many values of the secret fewer rounds are boosted: there is a tree for each."""


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
    """Gradient-boosted trees; see `fit_boosting`.

    Parameters
    ----------
    classifier : HistGradientBoostingClassifier
    k : int
        Number of values of the secret.
    """

    classifier: HistGradientBoostingClassifier
    k: int

    def predict_proba(self, seen: Observations) -> FloatArray:
        """Belief in each value, shape (n, k); 0 for values that were never met."""
        result = np.zeros((seen.size, self.k))
        found = self.classifier.predict_proba(seen.columns.astype(np.float64))
        result[:, self.classifier.classes_.astype(np.int64)] = found
        return result


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
        If scikit-learn is not installed.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise _missing(BOOSTING, "scikit-learn") from error
    known = np.isin(check.truth, train.truth)  # the classifier refuses values it never met
    # A few smooth trees: reports are noisy, and what they tell of the secret is little.
    classifier = HistGradientBoostingClassifier(
        learning_rate=0.1,
        max_iter=200 if k <= MANY_VALUES else 60,
        max_leaf_nodes=31,
        min_samples_leaf=50,
        categorical_features=[size <= MAX_BOOSTED for size in train.seen.column_sizes],
        early_stopping=bool(known.any()),
        n_iter_no_change=10,
        random_state=seed,
    )
    progress(0, 1)
    options: dict[str, Any] = {}
    if known.any():
        options = {
            "X_val": check.seen.columns[known].astype(np.float64),
            "y_val": check.truth[known],
        }
    # One thread: the result does not depend on the machine, and does not stall on a busy one.
    with threadpool_limits(1):
        classifier.fit(train.seen.columns.astype(np.float64), train.truth, **options)
    progress(1, 1)
    return BoostingModel(classifier, k)


def check_packages(names: Iterable[str]) -> None:
    """Refuse attackers whose packages are not installed, without importing these.

    Raises
    ------
    MissingDependencyError
        For the first attacker that needs one.
    """
    for name in names:
        for module, package in NEEDED.get(name, {}).items():
            if find_spec(module) is None:
                raise _missing(name, package)


def missing_torch() -> MissingDependencyError:
    """What to say when PyTorch is not installed."""
    return _missing(TRANSFORMER, "PyTorch")


def _missing(attacker: str, package: str) -> MissingDependencyError:
    msg = (
        f"expected {package} for the attacker {attacker!r}, got none: pip install 'seepage[attack]'"
    )
    return MissingDependencyError(msg)
