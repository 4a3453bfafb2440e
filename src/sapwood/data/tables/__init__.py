"""Tables, targets and weights as users pass them: reading and checking."""
