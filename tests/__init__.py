"""Tests of Sapwood; folders mirror those of ``src/sapwood``."""
