"""Gradient boosting: from the arguments of a fit to a model."""
