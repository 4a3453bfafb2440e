"""Links, and paths in backticks, lead to files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.processes import ROOT

PACKAGE = ROOT / "src" / "sapwood"
FOLDERS = (".github", "bench", "docs", "examples", "src", "tests")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
PATH = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|md|toml|yml|yaml|json|cff)|(?:[\w.-]+/)+)`")
PATH_IN_CODE = re.compile(r"``((?:[\w-]+/)*[\w-]+\.py)``|\b(docs/[\w/-]+\.md)\b")
WRITTEN = ("demo-output/",)  # by commands, not part of the repository


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def exists(mentioned: str, page: Path) -> bool:
    return any((folder / mentioned).exists() for folder in (page.parent, ROOT, PACKAGE))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_that_exist(page):
    links = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_paths_in_pages_exist(page):
    mentioned = set(PATH.findall(page.read_text(encoding="utf-8"))) - set(WRITTEN)
    assert sorted(path for path in mentioned if not exists(path, page)) == []


def test_paths_in_docstrings_exist():
    missing = [
        f"{name_of(module)}: {path}"
        for module in MODULES
        for pair in PATH_IN_CODE.findall(module.read_text(encoding="utf-8"))
        for path in filter(None, pair)
        if not exists(path, module)
    ]
    assert missing == []


def test_every_page_of_the_documentation_is_in_its_index():
    for folder in (ROOT / "docs", ROOT / "docs" / "decisions"):
        index = (folder / "README.md").read_text(encoding="utf-8")
        missing = [page.name for page in sorted(folder.glob("*.md")) if f"({page.name})" not in index]
        assert [name for name in missing if name != "README.md"] == []


def test_decisions_are_numbered_without_gaps():
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))
