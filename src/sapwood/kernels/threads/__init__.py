"""What the threads of a team share: the barrier and slices of work."""
