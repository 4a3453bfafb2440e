"""Kernels of automatic differentiation: run recorded losses."""
