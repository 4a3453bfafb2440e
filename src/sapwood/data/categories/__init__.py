"""Category columns: vocabularies, encodings, feature combinations."""
