"""Programs of users, for static type checkers."""
