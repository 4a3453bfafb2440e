"""Single decision trees: growth, pruning, prediction, rules as text."""
