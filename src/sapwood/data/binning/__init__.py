"""Binning: bin edges, bin mappers, binned datasets, sparse bins, feature bundling."""
