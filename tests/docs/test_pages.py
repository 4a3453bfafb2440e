"""Python code on pages of the documentation runs as it is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.processes import PYTHONPATH, ROOT

PAGES = ["classic.md", "composition.md", "plots.md", "practice.md", "report.md", "serving.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page, tmp_path):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text("\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        capture_output=True, text=True, timeout=300, cwd=tmp_path, env=os.environ | {"PYTHONPATH": PYTHONPATH},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
