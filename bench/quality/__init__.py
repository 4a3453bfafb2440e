"""Study of test loss against fit time with the defaults of every library: ``python -m bench.quality``."""
