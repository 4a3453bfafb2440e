"""Boosting modes: how trees are added up (plain, ordered, DART, forest)."""
