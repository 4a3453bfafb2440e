"""Growing one tree at a time on a dataset."""
