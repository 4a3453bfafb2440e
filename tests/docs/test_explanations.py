"""The code of docs/explanations.md runs, and its numbers are right."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.processes import ROOT


@pytest.fixture(scope="module")
def names() -> dict:
    page = (ROOT / "docs" / "explanations.md").read_text(encoding="utf-8")
    found: dict = {}
    exec("\n\n".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)), found)
    return found


def test_values_add_up_to_the_score(names):
    explanation = names["explanation"]
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, names["model"].predict_raw(names["X"]), rtol=1e-10)


def test_the_information_gains_are_what_a_hand_computes(names):
    """H(3/8) = 0.954, and H(3/5) = 0.971 for the 5 rows with rain, of which wind separates all."""
    rain = -(0.4 * np.log2(0.4) + 0.6 * np.log2(0.6))
    everything = -(3 / 8 * np.log2(3 / 8) + 5 / 8 * np.log2(5 / 8))
    assert names["gain_wind"] == pytest.approx(5 / 8 * rain)
    assert names["gain_weather"] == pytest.approx(everything - 5 / 8 * rain)
    assert names["gain_weather"] + names["gain_wind"] == pytest.approx(everything)
