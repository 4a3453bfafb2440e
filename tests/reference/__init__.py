"""Slow twins of kernels and growers, written for reading."""
