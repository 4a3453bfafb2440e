"""Model files and pickles of earlier versions, with what they answer."""
