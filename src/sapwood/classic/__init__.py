"""Trees and boosting as the textbooks have them: single trees, forests, boosting over any model, reweighted rows."""

from sapwood.classic.adaboost import SapwoodAdaBoostClassifier
from sapwood.classic.forest import SapwoodForestClassifier, SapwoodForestRegressor
from sapwood.classic.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from sapwood.classic.sign_regressor import SignRegressor
from sapwood.classic.trees.classifier import SapwoodTreeClassifier
from sapwood.classic.trees.regressor import SapwoodTreeRegressor

__all__ = [
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "SapwoodAdaBoostClassifier",
    "SapwoodForestClassifier",
    "SapwoodForestRegressor",
    "SapwoodTreeClassifier",
    "SapwoodTreeRegressor",
    "SignRegressor",
]
