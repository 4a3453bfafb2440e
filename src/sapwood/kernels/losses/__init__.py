"""Kernels of the losses: gradient pairs, loss values, links."""
