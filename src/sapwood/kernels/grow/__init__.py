"""Kernels that grow one tree."""
