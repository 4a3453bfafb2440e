"""Kernels that quantise gradients and build histograms."""
