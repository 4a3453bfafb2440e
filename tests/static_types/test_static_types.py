"""Type checkers know the public names: they accept a program of a user and report the mistakes in another one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sapwood
from tests.processes import PYTHONPATH, ROOT

PROGRAMS = ROOT / "tests" / "static_types"
ACCEPTED, REFUSED = PROGRAMS / "accepted.py", PROGRAMS / "refused.py"


def mypy_errors(directory: Path) -> set[tuple[str, int]]:
    """Return the file and line of each error that mypy reports for the two programs."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    command = [sys.executable, "-m", "mypy", "--config-file=", f"--cache-dir={directory}", str(ACCEPTED), str(REFUSED)]
    done = run(command, directory, MYPYPATH=PYTHONPATH)
    assert done.returncode in (0, 1), done.stderr
    return {
        (Path(file).name, int(line)) for file, line in re.findall(r"^(.*?):(\d+): error", done.stdout, re.MULTILINE)
    }


def pyright_errors(directory: Path) -> set[tuple[str, int]]:
    """Return the file and line of each error that pyright reports for the two programs."""
    if shutil.which("pyright") is None or run(["pyright", "--version"], directory).returncode != 0:
        pytest.skip("pyright is not installed")
    config = {"extraPaths": PYTHONPATH.split(os.pathsep)}
    for program in (ACCEPTED, REFUSED):
        shutil.copy(program, directory)
    (directory / "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")
    done = run(["pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(directory)], directory)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {(Path(one["file"]).name, one["range"]["start"]["line"] + 1) for one in found if one["severity"] == "error"}


def run(command: list[str], directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, cwd=directory, env=os.environ | environment)


@pytest.mark.parametrize("errors_of", [mypy_errors, pyright_errors])
def test_mistakes_are_reported_and_nothing_else(errors_of, tmp_path):
    lines = REFUSED.read_text(encoding="utf-8").splitlines()
    expected = {(REFUSED.name, n) for n, line in enumerate(lines, 1) if line.endswith("# error")}
    assert len(expected) > 10
    assert errors_of(tmp_path) == expected


def test_type_checkers_import_every_public_name():
    code = Path(sapwood.__file__).read_text(encoding="utf-8")
    imported = set(re.findall(r"^    from \S+ import (\w+) as \1$", code, re.MULTILINE))
    assert imported == set(sapwood.__all__) - {"__version__", "errors"}
