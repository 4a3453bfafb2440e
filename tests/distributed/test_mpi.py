"""Processes that MPI has started train the model of one process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.processes import PYTHONPATH, ROOT

pytest.importorskip("mpi4py", reason="mpi4py is not installed")
if shutil.which("mpiexec") is None:
    pytest.skip("no MPI is installed: there is no mpiexec", allow_module_level=True)

SECONDS = 120
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def run(n_workers: int, program: str) -> str:
    command = ["mpiexec", "-n", str(n_workers), sys.executable, "-m", "mpi4py", str(ROOT / program)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, env=os.environ | OPEN_MPI | {"PYTHONPATH": PYTHONPATH}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_trains_the_model_of_one_process() -> None:
    assert "2 workers trained the model of a single process" in run(2, "examples/mpi_workers.py")


def test_all_processes_get_sums_maxima_and_arrays() -> None:
    assert "3 workers agree" in run(3, "tests/distributed/mpi_collectives.py")
