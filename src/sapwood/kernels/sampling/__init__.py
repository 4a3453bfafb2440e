"""Kernels that sample rows and copy the sampled ones."""
