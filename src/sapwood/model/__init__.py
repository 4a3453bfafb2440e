"""Trained models: trees, prediction, model files."""
