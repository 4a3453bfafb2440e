"""Barrier, lock and slices of work of the threads of a team."""
