"""Kernels that turn values into bins, target statistics and combination codes."""
