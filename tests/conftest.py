"""What all tests share."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

# No deadline: the first call of a kernel may load or compile it. The same examples in every run.
settings.register_profile("sapwood", deadline=None, derandomize=True)
settings.load_profile("sapwood")

# A shell's background jobs ignore Ctrl-C, which is among what is tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every", type=int, default=1, help="run every N-th test of those collected")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items[:] = items[:: config.getoption("--every")]
