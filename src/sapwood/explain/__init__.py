"""Explanations of trained models."""
