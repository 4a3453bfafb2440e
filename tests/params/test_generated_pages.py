"""The pages of the documentation that are generated from declarations."""

from __future__ import annotations

import importlib.util

import pytest

from tests.processes import ROOT


def _pages():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PAGES


PAGES = _pages()


@pytest.mark.parametrize("name", PAGES)
def test_the_generated_pages_are_current(name):
    """``python docs/generate.py`` (or ``make docs``) mends a failure."""
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == PAGES[name]()
    assert f"({name})" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
