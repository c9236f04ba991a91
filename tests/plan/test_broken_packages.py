"""Optional packages of attackers that are there but cannot be used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from seepage.attack.boosted import BoostedTrees, Rows, broken, installed, trouble
from seepage.attack.learned import check_packages
from seepage.collect.designs import independent
from seepage.domain import Domain
from seepage.errors import MissingDependencyError
from seepage.plan.attacking import attack_plan

LIBRARY = "libgomp.so.1: cannot open shared object file"
FAILURES = {
    f"raise ImportError('{LIBRARY}: No such file or directory\\nand more')": LIBRARY,
    "raise ValueError('numpy.dtype size changed')": "numpy.dtype size changed",
    "raise OSError": "OSError",
    "import no_such_module_anywhere": "No module named 'no_such_module_anywhere'",
}
CLASSIFIER = "class HistGradientBoostingClassifier:\n    def fit(self, X, y): pass\n"
ENSEMBLES = {  # what is in a package that imports, but is older or another one
    "x = 1\n": "has no attribute 'HistGradientBoostingClassifier'",
    CLASSIFIER: "does not take 'X_val': the version is too old",
    "class HistGradientBoostingClassifier: pass\n": "has no attribute 'fit'",
}


@pytest.fixture(autouse=True)
def modules_as_before() -> Iterator[None]:
    """Forget what was imported in place of the packages that are installed."""
    ours = ("sklearn", "threadpoolctl", "torch")

    def found() -> dict[str, ModuleType]:
        return {n: one for n, one in sys.modules.items() if n.partition(".")[0] in ours}

    before = found()
    yield
    for name in found():
        del sys.modules[name]
    sys.modules.update(before)


def put_in_place(
    monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, content: str = ""
) -> None:
    """Let a package of this content be found in place of the one that is installed."""
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(content, encoding="utf-8")
    for module in [one for one in sys.modules if one.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.syspath_prepend(folder)


@pytest.fixture(
    params=[*FAILURES, *ENSEMBLES],
    ids=["import", "value", "os", "dependency", "no classifier", "old", "no fit"],
)
def said(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """What a scikit-learn says that cannot be used."""
    put_in_place(monkeypatch, tmp_path, "threadpoolctl")
    if request.param in FAILURES:
        put_in_place(monkeypatch, tmp_path, "sklearn", request.param)
        return FAILURES[request.param]
    put_in_place(monkeypatch, tmp_path, "sklearn")
    (tmp_path / "sklearn" / "ensemble.py").write_text(request.param, encoding="utf-8")
    return ENSEMBLES[request.param]


def test_what_needs_it_is_refused(said: str) -> None:
    assert not installed()
    assert said in broken()
    assert "\n" not in broken()
    rows = Rows(np.zeros((10, 1), np.int64), np.arange(10) % 2)
    with pytest.raises(MissingDependencyError, match="expected scikit-learn") as caught:
        BoostedTrees.fit(rows, None, sizes=(1,), k=2, seed=0, leaf=1)
    assert said in str(caught.value)
    with pytest.raises(MissingDependencyError, match="one that cannot be used") as caught:
        check_packages(["prior", "boosting"])
    assert said in str(caught.value)
    check_packages(["prior", "bayes"])


def test_bayes_does_without_and_says_why(said: str) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (300, 1))
    table = {"a": codes[:, 0], "b": (codes[:, 0] + (rng.random(300) < 0.1)) % 2}
    plan = independent(Domain.of({"a": [0, 1], "b": [0, 1]}), 2.0)
    stages: list[str] = []
    with pytest.raises(MissingDependencyError, match="cannot be used"):
        attack_plan(table, plan, "a", ("bayes", "boosting"), stage=stages.append)
    assert stages == []
    found = attack_plan(table, plan, "a", ("bayes",))
    told = [one for one in found.assumptions if "did without gradient-boosted trees" in one]
    assert len(told) == 1
    assert "which need scikit-learn (it cannot be used: " in told[0]
    assert said in told[0]
    assert "descriptions" in " ".join(found.assumptions)


def test_an_absent_package_is_not_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("sklearn", "sklearn.ensemble"):
        monkeypatch.setitem(sys.modules, name, None)
    assert not installed()
    assert broken() == ""
    with pytest.raises(MissingDependencyError, match=r"got none: pip install 'seepage\[attack\]'"):
        check_packages(["boosting"])
    put_in_place(monkeypatch, tmp_path, "torch", "raise OSError('libcudart.so: not found')")
    with pytest.raises(MissingDependencyError, match=r"used: libcudart\.so: not found"):
        check_packages(["tabtransformer"])
    assert trouble(["math", "json"]) == ""


def test_the_other_package_is_looked_at_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    assert trouble() == ""
    put_in_place(monkeypatch, tmp_path, "threadpoolctl")
    assert "has no attribute 'threadpool_limits'" in trouble(["threadpoolctl"])
