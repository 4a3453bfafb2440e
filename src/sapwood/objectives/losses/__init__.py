"""Losses, one per module: two kernels and a class, found by the registry under the name of the module."""
