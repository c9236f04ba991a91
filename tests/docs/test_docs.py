"""Run the code of the documentation as a reader would."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    return [body for kind, body in BLOCK.findall(page.read_text("utf-8")) if kind == language]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    code = blocks(page, "python")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for body in code:
        exec(compile(body, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page, tmp_path):
    for body in blocks(page, "console"):
        for line in body.splitlines():
            if line.startswith("$ seepage "):
                words = shlex.split(line.removeprefix("$ seepage "), comments=True)
                done = subprocess.run(
                    [sys.executable, "-m", "seepage", *words],
                    cwd=tmp_path,
                    capture_output=True,
                    check=False,
                )
                assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_domain_file_of_the_tables_page_is_valid():
    from seepage.tables import domain_from_yaml

    (text,) = blocks(ROOT / "docs" / "tables.md", "yaml")
    assert domain_from_yaml(text).names == ("sex", "age", "smoker")


def test_the_script_of_the_published_page_reproduces_its_numbers(data_dir, monkeypatch, capsys):
    (code,) = blocks(ROOT / "docs" / "published.md", "py")
    monkeypatch.setenv("SEEPAGE_DATA", str(data_dir))
    exec(compile(code, "published.md", "exec"), {})
    *lines, comment = [*capsys.readouterr().out.splitlines(), code.splitlines()[-1]]
    wanted = comment.removeprefix("# ").split("   ")
    assert len(lines) == len(wanted) == 4
    for line, stated in zip(lines, wanted, strict=True):
        assert [float(x) for x in line.split()] == pytest.approx(
            [float(x) for x in stated.split()], abs=1e-8
        )
