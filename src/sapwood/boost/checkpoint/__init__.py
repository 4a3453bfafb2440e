"""Checkpoints: resume interrupted training, with the same result bit for bit."""

REMEDY = "delete the file to train from scratch, or pass another path"
