"""Kernels of losses: gradient pairs, loss values and link functions."""
