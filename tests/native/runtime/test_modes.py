"""Kernels give the same bits however they run: from the library, by Numba or as plain Python, on every CPU level."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sapwood.native.system import cpu_level
from tests.native.runtime import fit_report

SCRIPT = Path(fit_report.__file__)
# Compiling more variants and growers would only make the test longer.
JIT_CASES = [
    "draws",
    "exponentials",
    "scales",
    "wide_fit",
    "packed_fit",
    "classifier_fit",
    "category_fit",
    "ordered_scoring_fit",
]


def can_run(level: str) -> bool:
    return level != "x86-64-v3" or cpu_level._cpu_flags() >= cpu_level.V3_FLAGS


LEVELS = [level for level in cpu_level.cpu_levels() if can_run(level)]


@pytest.fixture(scope="module")
def reports(start, libraries):
    """What every way of running gives; all processes work at the same time."""
    pytest.importorskip("numba")
    running = {f"native {level}": start(SCRIPT, SAPWOOD_CPU=level) for level in LEVELS}
    running["jit"] = start(SCRIPT, *JIT_CASES, SAPWOOD_KERNELS="jit", SAPWOOD_BOUNDSCHECK="1")
    running["python"] = start(SCRIPT, SAPWOOD_KERNELS="python")
    said = {name: process.communicate(timeout=500) for name, process in running.items()}
    for name, process in running.items():
        assert process.returncode == 0, f"{name}:\n{said[name][1]}"
    return {name: json.loads(output) for name, (output, _) in said.items()}


@pytest.mark.parametrize("name", fit_report.CASES)
def test_plain_python_gives_the_bits_of_the_library(reports, name):
    assert reports["python"][name] == reports[f"native {LEVELS[0]}"][name]


@pytest.mark.parametrize("name", JIT_CASES)
def test_numba_gives_the_bits_of_the_library_and_no_index_is_out_of_bounds(reports, name):
    assert reports["jit"][name] == reports[f"native {LEVELS[0]}"][name]


@pytest.mark.parametrize("name", fit_report.CASES)
def test_every_cpu_level_gives_the_same_bits(reports, name):
    assert len({reports[f"native {level}"][name] for level in LEVELS}) == 1


def test_the_cases_differ_from_one_another(reports):
    assert len(set(reports["python"].values())) == len(fit_report.CASES)
