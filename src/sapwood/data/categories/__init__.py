"""Categorical columns: vocabularies, encodings and feature combinations."""
