"""Automatic differentiation of custom losses: forward mode with second-order dual numbers on a traced tape."""
