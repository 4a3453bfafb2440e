"""Tests of sapwood.report."""
