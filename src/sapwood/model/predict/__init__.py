"""Prediction with trained trees."""
