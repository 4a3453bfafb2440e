"""Limits of the machine and of this process: CPU level, CPUs and memory."""
