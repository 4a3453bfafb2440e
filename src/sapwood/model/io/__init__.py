"""Model files: writing, reading, validation, fingerprints."""
