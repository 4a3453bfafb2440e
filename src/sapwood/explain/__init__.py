"""Explanations of finished models."""
