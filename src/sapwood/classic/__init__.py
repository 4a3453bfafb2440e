"""Boosting as the textbooks have it: over any scikit-learn model, by first-order steps or by reweighting rows."""

from sapwood.classic.adaboost import SapwoodAdaBoostClassifier
from sapwood.classic.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from sapwood.classic.sign_regressor import SignRegressor

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor", "SapwoodAdaBoostClassifier", "SignRegressor"]
