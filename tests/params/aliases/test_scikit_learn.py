"""Every name of the installed scikit-learn's gradient boosting is translated or declined."""

from __future__ import annotations

from sklearn import ensemble
from sklearn.metrics import get_scorer_names

from sapwood.params.aliases.alias import FIT, METRIC, OBJECTIVE, PARAMETER, PREDICT
from tests.params.aliases.peers import arguments, check_all_explained, methods

ESTIMATORS = (
    ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor,
    ensemble.GradientBoostingClassifier, ensemble.GradientBoostingRegressor,
)  # fmt: skip


def test_all_parameters_are_explained():
    check_all_explained("scikit-learn", PARAMETER, arguments(*methods("__init__", *ESTIMATORS)))


def test_all_arguments_of_fit_are_explained():
    check_all_explained("scikit-learn", FIT, arguments(*methods("fit", *ESTIMATORS)))


def test_all_arguments_of_predict_are_explained():
    functions = [*methods("predict", *ESTIMATORS), *methods("predict_proba", *ESTIMATORS)]
    check_all_explained("scikit-learn", PREDICT, arguments(*functions))


def test_all_losses_are_explained():
    constraints = [estimator._parameter_constraints["loss"] for estimator in ESTIMATORS]
    losses = {name for allowed in constraints for one in allowed for name in getattr(one, "options", ())}
    check_all_explained("scikit-learn", OBJECTIVE, losses)


def test_all_scorers_are_explained():
    check_all_explained("scikit-learn", METRIC, get_scorer_names())
