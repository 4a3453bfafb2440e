"""Ray on this machine, with a time limit: a test that hangs fails with the stacks of all threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.processes import PYTHONPATH

HANG_SECONDS = 180.0


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(HANG_SECONDS))
            item.add_marker(pytest.mark.filterwarnings("ignore:::ray"))


@pytest.fixture(scope="package")
def cluster() -> Iterator[None]:
    import ray

    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR", object_store_memory=10**8,
        runtime_env={"env_vars": {"PYTHONPATH": PYTHONPATH}},
    )  # fmt: skip
    yield
    ray.shutdown()
