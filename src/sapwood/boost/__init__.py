"""The boosting loop: rounds, validation, stopping."""
