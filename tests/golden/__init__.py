"""Model files and pickles of earlier versions, with their predictions."""
