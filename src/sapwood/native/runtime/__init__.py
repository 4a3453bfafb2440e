"""Load and call compiled kernels."""
