"""Tests of sapwood.plot."""
