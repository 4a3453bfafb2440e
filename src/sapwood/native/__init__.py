"""Compiling kernels ahead of time, loading them, and running them on a team of threads."""
