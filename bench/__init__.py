"""Measure Sapwood beside its peers: ``python -m bench`` for time and memory, ``python -m bench.quality`` for loss."""
