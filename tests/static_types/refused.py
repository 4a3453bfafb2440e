"""A program in which type checkers must report every line that ends with a comment, and no other; it is not run."""

from __future__ import annotations

import sapwood
import sapwood.objectives
from sapwood import Goss, SapwoodClassifier, SapwoodRegressor

SapwoodClassifier(num_leaves=31)  # error
SapwoodClassifier(growth="lossguide")  # error
SapwoodClassifier(n_estimators="many")  # error
SapwoodClassifier(100)  # error
SapwoodRegressor(class_weight="balanced")  # error
SapwoodRegressor(sampling=Goss(0.2, 0.1, rounds=3))  # error
SapwoodRegressor(checkpoint=3)  # error
SapwoodRegressor().fit([[1.0]])  # error
SapwoodRegressor().fit([[1.0]], [1.0]).predict([[1.0]], raw_score=True)  # error
best: str = SapwoodRegressor().fit([[1.0]], [1.0]).best_iteration_  # error
_ = sapwood.SapwoodRanker  # error
_ = sapwood.objectives.Quantil  # error
sapwood.load(3)  # error
sapwood.load("model").predict()  # error
sapwood.train({}, [[1.0]])  # error
sapwood.load("model").save()  # error
