"""Elementary functions, random numbers, fixed-point numbers and sums."""
