"""Hyperparameter search with Optuna: bins are computed once, and a callback prunes unpromising trials."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

import sapwood

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 6))
y = X[:, 0] * X[:, 1] + np.sin(3.0 * X[:, 2]) + rng.normal(scale=0.3, size=len(X))
X_train, y_train, X_valid, y_valid = X[:3000], y[:3000], X[3000:], y[3000:]
data = sapwood.Dataset(X_train)  # binned once, used by every trial


def pruning(trial: Any) -> Any:
    """Return a callback that reports the metric to Optuna after each round; an exception ends the fit."""
    import optuna

    def report(progress: Any) -> None:
        trial.report(progress.evals["validation"]["rmse"][-1], progress.round)
        if trial.should_prune():
            raise optuna.TrialPruned

    return report


def objective(trial: Any) -> float:
    """Return the validation error of one set of parameters."""
    regressor = sapwood.SapwoodRegressor(
        n_estimators=200,
        early_stopping_rounds=10,
        learning_rate=trial.suggest_float("learning_rate", 0.02, 0.5, log=True),
        max_leaves=trial.suggest_int("max_leaves", 4, 64, log=True),
        subsample=trial.suggest_float("subsample", 0.5, 1.0),
        callbacks=[pruning(trial)],
    )
    regressor.fit(data, y_train, eval_set=(X_valid, y_valid))
    trial.set_user_attr("rounds", regressor.best_iteration_)
    return regressor.best_score_


def search() -> None:
    """Run the study and print the best parameters."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(sampler=sampler, pruner=optuna.pruners.MedianPruner(n_startup_trials=4))
    study.optimize(objective, n_trials=15)
    pruned = sum(trial.state is optuna.trial.TrialState.PRUNED for trial in study.trials)
    rounds = study.best_trial.user_attrs["rounds"]
    print(f"best rmse {study.best_value:.4f} after {rounds} rounds with {study.best_params}")
    print(f"{pruned} of {len(study.trials)} trials were pruned")


if importlib.util.find_spec("optuna") is None:
    print("this example needs Optuna: pip install optuna")
else:
    search()
