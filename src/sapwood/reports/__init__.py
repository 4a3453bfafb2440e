"""Reports on a model: one HTML page, the same as text and as a dictionary."""
