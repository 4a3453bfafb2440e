"""Compile kernels ahead of time (build requirement: Numba)."""
