"""Explanations of predictions: Shapley values of trees."""
