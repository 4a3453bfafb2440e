"""Kernels that search for the best split of a leaf."""
