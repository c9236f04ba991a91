"""Gradient-boosted trees for rows of categories, from scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from inspect import signature
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage._numeric import FloatArray, IntArray
from seepage.errors import MissingDependencyError

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier

NEEDED = {"sklearn": "scikit-learn", "threadpoolctl": "scikit-learn"}
"""Modules that are imported here, with what to install."""

IMPORTED = ("sklearn.ensemble", "threadpoolctl")
"""What is imported of them."""

USED = {
    "sklearn.ensemble": ("HistGradientBoostingClassifier.fit", "X_val"),
    "threadpoolctl": ("threadpool_limits", "limits"),
}
"""What is called of these, and its newest parameter, which scikit-learn has from 1.7 on."""

MAX_BOOSTED = 255
"""Categories of a column that gradient boosting can take as categories."""

MANY_VALUES = 20
"""Above so many values of the secret fewer rounds are boosted: there is a tree for each."""


PENALTY = 1.0
"""Of the squared values of leaves. Without, a value that few rows have lets the loss explode."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of categories, with the value to be guessed.

    Parameters
    ----------
    columns : array of int, shape (n, c)
    truth : array of int, shape (n,)
    weights : array of float, shape (n,), optional
    """

    columns: IntArray
    truth: IntArray
    weights: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """``p(value | row)``; see `fit`.

    Parameters
    ----------
    classifier : HistGradientBoostingClassifier
    k : int
        Number of values.
    """

    classifier: HistGradientBoostingClassifier
    k: int

    @classmethod
    def fit(
        cls,
        train: Rows,
        check: Rows | None,
        *,
        sizes: Sequence[int],
        k: int,
        seed: int,
        leaf: int,
        rounds: int | None = None,
    ) -> BoostedTrees:
        """Fit scikit-learn's histogram gradient boosting.

        Parameters
        ----------
        train : Rows
        check : Rows, optional
            Boosting stops when it no longer improves on these rows.
        sizes : sequence of int
            Number of categories of each column. Above `MAX_BOOSTED` the order of the codes counts.
        k : int
            Number of values to be guessed.
        seed : int
        leaf : int
            Fewest rows of a leaf.
        rounds : int, optional
            Most rounds; never more than 200, or 60 for many values.

        Raises
        ------
        MissingDependencyError
            If scikit-learn is not installed, or cannot be used.
        """
        why = trouble()
        if why:
            msg = (
                f"expected scikit-learn for gradient-boosted trees, got an error: {why} (pip "
                "install 'seepage[attack]')"
            )
            raise MissingDependencyError(msg)
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        options: dict[str, Any] = {}
        if train.weights is not None:
            options["sample_weight"] = train.weights
        if check is not None:  # the classifier refuses values it never met
            known = np.isin(check.truth, train.truth)
            if known.any():
                options["X_val"] = check.columns[known].astype(np.float64)
                options["y_val"] = check.truth[known]
                if check.weights is not None:
                    options["sample_weight_val"] = check.weights[known]
        most = 200 if k <= MANY_VALUES else 60
        classifier = HistGradientBoostingClassifier(
            learning_rate=0.1,
            max_iter=most if rounds is None else min(rounds, most),
            max_leaf_nodes=31,
            min_samples_leaf=leaf,
            l2_regularization=PENALTY,
            categorical_features=[size <= MAX_BOOSTED for size in sizes],
            early_stopping="X_val" in options,
            n_iter_no_change=10,
            random_state=seed,
        )
        # One thread: the result does not depend on the machine, and does not stall on a busy one.
        with threadpool_limits(1):
            classifier.fit(train.columns.astype(np.float64), train.truth, **options)
        return cls(classifier, k)

    @property
    def rounds(self) -> int:
        """Rounds that were boosted."""
        return int(self.classifier.n_iter_)

    def predict(self, columns: IntArray) -> FloatArray:
        """Belief in each value, shape (n, k); 0 for values that were never met."""
        result = np.zeros((len(columns), self.k))
        found = self.classifier.predict_proba(columns.astype(np.float64))
        result[:, self.classifier.classes_.astype(np.int64)] = found
        return result


def trouble(modules: Iterable[str] = IMPORTED) -> str:
    """Why modules cannot be used, in a few words; empty where they can.

    What is installed may fail all the same, for want of a shared library, because it was built for
    another version of NumPy, or because it is too old. To know this takes an import.

    Parameters
    ----------
    modules : iterable of str
        Those of scikit-learn by default.
    """
    for module in modules:
        try:
            __import__(module)
            if module in USED:
                _check(module)
        except Exception as error:  # whatever a broken package raises
            return str(error).partition("\n")[0] or type(error).__name__
    return ""


def _check(name: str) -> None:
    """Raise an error where a module lacks what is used of it: another version has other names."""
    path, parameter = USED[name]
    if parameter not in signature(attrgetter(path)(sys.modules[name])).parameters:
        msg = f"{name}.{path} does not take {parameter!r}: the version is too old"
        raise TypeError(msg)


def installed() -> bool:
    """Whether scikit-learn is there and can be used."""
    return not trouble()


def broken() -> str:
    """Why scikit-learn cannot be used although it is there; empty otherwise."""
    return trouble() if all(find_spec(module) is not None for module in NEEDED) else ""
