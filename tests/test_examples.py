"""The examples and the one in the README run."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from tests.processes import ROOT

WITH_MPIEXEC = "mpi_workers.py"  # which tests/distributed/test_mpi.py runs
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.name != WITH_MPIEXEC]
NEEDS = {"mlflow_tracking.py": ("mlflow", "skops")}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_example_runs(path, capsys, monkeypatch):
    for library in NEEDS.get(path.name, ()):
        pytest.importorskip(library, reason=f"the example tracks a fit with {library}, which is not installed")
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_the_example_in_the_readme_runs(capsys):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL).group(1)
    exec(compile(code, "README.md", "exec"), {})
    assert 0.75 < float(capsys.readouterr().out) < 1.0
