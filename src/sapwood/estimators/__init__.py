"""Estimators that follow scikit-learn's conventions, and cross-validation."""
