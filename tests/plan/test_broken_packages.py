"""Optional packages of attackers that are there but cannot be imported."""

from __future__ import annotations

import sys
from pathlib import Path

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


def put_in_place(
    monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, content: str = ""
) -> None:
    """Let a package of this content be found in place of the one that is installed."""
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(content, encoding="utf-8")
    for module in [one for one in sys.modules if one.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.syspath_prepend(folder)


@pytest.fixture(params=FAILURES, ids=["import", "value", "os", "dependency"])
def said(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """What a scikit-learn says that cannot be imported."""
    put_in_place(monkeypatch, tmp_path, "threadpoolctl")
    put_in_place(monkeypatch, tmp_path, "sklearn", request.param)
    return FAILURES[request.param]


def test_what_needs_it_is_refused(said: str) -> None:
    assert not installed()
    assert said in broken()
    assert "\n" not in broken()
    rows = Rows(np.zeros((10, 1), np.int64), np.arange(10) % 2)
    with pytest.raises(MissingDependencyError, match="expected scikit-learn") as caught:
        BoostedTrees.fit(rows, None, sizes=(1,), k=2, seed=0, leaf=1)
    assert said in str(caught.value)
    with pytest.raises(MissingDependencyError, match="one that cannot be imported") as caught:
        check_packages(["prior", "boosting"])
    assert said in str(caught.value)
    check_packages(["prior", "bayes"])


def test_bayes_does_without_and_says_why(said: str) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (300, 1))
    table = {"a": codes[:, 0], "b": (codes[:, 0] + (rng.random(300) < 0.1)) % 2}
    plan = independent(Domain.of({"a": [0, 1], "b": [0, 1]}), 2.0)
    stages: list[str] = []
    with pytest.raises(MissingDependencyError, match="cannot be imported"):
        attack_plan(table, plan, "a", ("bayes", "boosting"), stage=stages.append)
    assert stages == []
    found = attack_plan(table, plan, "a", ("bayes",))
    told = [one for one in found.assumptions if "did without gradient-boosted trees" in one]
    assert len(told) == 1
    assert "which need scikit-learn (it cannot be imported: " in told[0]
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
    with pytest.raises(MissingDependencyError, match=r"imported: libcudart\.so: not found"):
        check_packages(["tabtransformer"])
    assert trouble(["math", "json"]) == ""
