"""Evaluation metrics. ``registry.resolve_metric`` finds one by its name."""
