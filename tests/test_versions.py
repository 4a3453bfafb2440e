"""What is told in bug reports."""

from __future__ import annotations

import numpy as np

import sapwood
from sapwood.versions import versions


def test_versions_tell_what_sapwood_runs_on():
    found = versions()
    assert found["sapwood"] == sapwood.__version__
    assert found["numpy"] == np.__version__
    assert found["kernels"].split()[0] in ("native", "jit", "python")
    assert "CPUs" in found["threads"]


def test_a_package_that_is_not_there_is_said_so(monkeypatch):
    monkeypatch.setattr("sapwood.versions.PACKAGES", ("no-such-package",))
    assert versions()["no-such-package"] == "not installed"


def test_they_are_printed_one_per_line(capsys):
    sapwood.show_versions()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(versions())
    assert lines[0].split() == ["sapwood", sapwood.__version__]
