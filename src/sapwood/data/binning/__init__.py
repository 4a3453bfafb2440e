"""Binning: bin edges, bin mappers, binned datasets, sparse bins and feature bundling."""
