"""Kernels that compute leaf values."""
