"""From the user's table to bins: reading, checking, encoding."""
