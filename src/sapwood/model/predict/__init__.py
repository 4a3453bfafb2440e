"""Prediction with finished trees."""
