"""Compare Sapwood with others: ``python -m bench`` for time and memory, ``python -m bench.quality`` for loss."""
