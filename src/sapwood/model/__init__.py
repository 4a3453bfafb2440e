"""Finished models: trees, prediction, files."""
