"""Checks of the installed package: version, public names, annotations, imports."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from types import ModuleType

import pytest

import seepage

HEAVY = {"polars", "scipy", "altair", "pandas", "narwhals", "jinja2", "rich"}


def modules() -> list[ModuleType]:
    found = pkgutil.walk_packages(seepage.__path__, prefix="seepage.")
    names = [item.name for item in found if not item.name.endswith("__main__")]
    return [seepage, *map(importlib.import_module, names)]


def functions(owner: type | ModuleType, home: str) -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the public functions defined in `home`; of classes, their public methods."""
    for name, item in vars(owner).items():
        if name.startswith("_"):
            continue
        if isinstance(item, property):
            if item.fget is not None:
                yield f"{owner.__name__}.{name}", item.fget
            continue
        function = item.__func__ if isinstance(item, (classmethod, staticmethod)) else item
        if inspect.isfunction(function) and function.__module__ == home:
            yield f"{owner.__name__}.{name}", function
        elif inspect.isclass(item) and item.__module__ == home:
            yield from functions(item, home)


def missing_annotations(function: Callable[..., object]) -> list[str]:
    signature = inspect.signature(function)
    missing = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.annotation is parameter.empty and name not in {"self", "cls"}
    ]
    if signature.return_annotation is signature.empty:
        missing.append("return")
    return missing


def test_version_is_that_of_the_metadata() -> None:
    assert version("seepage") == seepage.__version__


def test_public_names_are_sorted() -> None:
    def key(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert list(seepage.__all__) == sorted(set(seepage.__all__), key=key)


@pytest.mark.parametrize("name", seepage.__all__)
def test_public_name_exists_and_is_documented(name: str) -> None:
    item = getattr(seepage, name)
    if inspect.isclass(item) or inspect.isroutine(item) or inspect.ismodule(item):
        # A class without a docstring would show that of its base, or a generated signature.
        own = item.__doc__
        assert own, f"{name} has no docstring"
        summary = inspect.cleandoc(own).splitlines()[0]
        assert summary.endswith((".", ":")), f"{name}: {summary!r} is not a sentence"
        assert not summary.startswith(f"{name}("), f"{name} has only a generated docstring"


def test_every_module_is_documented() -> None:
    assert [module.__name__ for module in modules() if not module.__doc__] == []


def test_public_functions_are_annotated() -> None:
    missing = {
        name: left
        for module in modules()
        for name, function in functions(module, module.__name__)
        if (left := missing_annotations(function))
    }
    assert missing == {}


def test_import_is_light() -> None:
    code = "import sys, seepage; print(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert set(run.stdout.split()) & HEAVY == set()
