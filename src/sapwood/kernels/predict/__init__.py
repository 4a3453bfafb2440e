"""Kernels that send rows through trees."""
