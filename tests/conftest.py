"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# No deadline: the first call of a kernel may load or compile it. The same examples in every run.
settings.register_profile("sapwood", deadline=None, derandomize=True)
settings.load_profile("sapwood")
