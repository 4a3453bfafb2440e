"""Checkpoints: continue an interrupted training to the same bits."""
