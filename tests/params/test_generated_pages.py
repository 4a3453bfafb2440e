"""The pages and modules that are generated from declarations."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.processes import PYTHONPATH, ROOT


def test_everything_that_is_generated_is_current():
    """``python docs/generate.py`` (or ``make docs``) mends a failure."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": PYTHONPATH},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
