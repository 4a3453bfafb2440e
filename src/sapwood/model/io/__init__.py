"""Model files: writing, reading, validation and fingerprints."""
