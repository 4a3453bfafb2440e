"""Measures of predictions. ``registry.resolve_metric`` finds one by its name."""
