"""Refit: training again on all rows for the best number of rounds."""

from __future__ import annotations

from sapwood import SapwoodRegressor
from sapwood.boost import interrupt, refit
from tests.boost.examples import FAST, example


def test_refit_trains_on_all_rows_for_as_many_rounds_as_were_best():
    X, y = example()
    settings = {"n_estimators": 300, "early_stopping_rounds": 5, "validation_fraction": 0.3, **FAST}
    first = SapwoodRegressor(**settings).fit(X, y)
    again = SapwoodRegressor(refit=True, **settings).fit(X, y)
    assert again.best_iteration_ == again.n_iter_ == first.best_iteration_
    assert (again.evals_result_, again.best_score_) == (first.evals_result_, first.best_score_)
    plain = SapwoodRegressor(n_estimators=first.best_iteration_, **FAST).fit(X, y)
    assert again.model_.fingerprint() == plain.model_.fingerprint()
    assert again.model_.metadata["n_rows"] == 400


def test_refit_changes_nothing_where_no_rows_were_split_off():
    X, y = example()
    settings = {"n_estimators": 100, "early_stopping_rounds": 5, **FAST}
    models = [
        SapwoodRegressor(refit=refit, **settings).fit(X, y, eval_set=example(seed=1)).model_ for refit in (True, False)
    ]
    assert models[0].fingerprint() == models[1].fingerprint()


def test_no_refit_where_the_time_is_used_up():
    made = SapwoodRegressor(n_estimators=1000, time_limit=1e-9, refit=True, validation_fraction=0.5)
    assert made.fit(*example()).model_.metadata["n_rows"] == 200


def test_an_interrupted_refit_leaves_the_model_of_before(monkeypatch):
    X, y = example()
    settings = {"n_estimators": 60, "early_stopping_rounds": 5, **FAST}
    first = SapwoodRegressor(**settings).fit(X, y)

    def interrupted(*_):
        raise interrupt.InterruptedBeforeFirstRound

    monkeypatch.setattr(refit, "train_rows", interrupted)
    again = SapwoodRegressor(refit=True, on_interrupt="return", **settings).fit(X, y)
    assert again.stopped_ == "interrupted"
    assert again.model_.fingerprint() == first.model_.fingerprint()
