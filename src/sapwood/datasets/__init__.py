"""Data sets that come with the package, so that examples and the demo need no network."""

from sapwood.datasets.adult import Adult, load_adult

__all__ = ["Adult", "load_adult"]
