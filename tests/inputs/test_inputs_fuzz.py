"""Tables, targets and parameters drawn at random: a result or a named error, never anything else.

``SAPWOOD_FUZZ=5000`` draws so many cases; the suite draws few.
"""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from sklearn.exceptions import DataConversionWarning

import sapwood
from sapwood.errors import SapwoodError, SapwoodWarning
from tests.inputs.random_inputs import Situation, situations

N_CASES = int(os.environ.get("SAPWOOD_FUZZ", "60"))


def check_other_tables(situation: Situation, fitted: sapwood.SapwoodRegressor | sapwood.SapwoodClassifier) -> None:
    """Tables with other columns, orders and types are answered or refused by name."""
    for other in situation.other_tables():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
            try:
                assert np.isfinite(fitted.predict_raw(other)).all()
            except SapwoodError as error:
                assert str(error)


def check_team(situation: Situation, fitted: sapwood.SapwoodRegressor | sapwood.SapwoodClassifier) -> None:
    """Three threads train the same model as one."""
    if situation.params.get("random_state", 0) is None or fitted.stopped_ == "time_limit":
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAPWOOD_TEAM", "3")
        assert situation.fit().model_.fingerprint() == fitted.model_.fingerprint()


@settings(max_examples=N_CASES, derandomize=N_CASES <= 60, suppress_health_check=list(HealthCheck))
@given(situations())
def test_a_fit_is_a_model_that_answers_or_a_named_error(situation: Situation):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SapwoodWarning)
        warnings.simplefilter("ignore", DataConversionWarning)
        try:
            fitted = situation.fit()
        except SapwoodError as error:
            assert str(error)
            return
        check_answers(situation, fitted)
        check_team(situation, fitted)


def check_answers(situation: Situation, fitted: sapwood.SapwoodRegressor | sapwood.SapwoodClassifier) -> None:
    """The model answers all its rows, in pieces as at once, and so does the file it is saved to."""
    X, n = situation.X, situation.n_rows
    raw = fitted.predict_raw(X)
    assert len(raw) == n
    assert np.isfinite(raw).all()
    assert len(fitted.predict(X)) == n
    if fitted.init_ is None:
        again = sapwood.model.io.serialize.from_bytes(sapwood.model.io.serialize.to_bytes(fitted.model_))
        np.testing.assert_array_equal(again.predict_raw(X), fitted.model_.predict_raw(X))
    stages = list(fitted.staged_predict(X))
    if stages:
        np.testing.assert_array_equal(stages[-1], fitted.predict(X))
    check_other_tables(situation, fitted)
    if isinstance(fitted, sapwood.SapwoodClassifier):
        total = fitted.predict_proba(X).sum(axis=1)
        np.testing.assert_allclose(total, 1.0, rtol=1e-9)
