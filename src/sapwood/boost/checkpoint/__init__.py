"""Checkpoints: resume interrupted training, with the same result bit for bit."""
