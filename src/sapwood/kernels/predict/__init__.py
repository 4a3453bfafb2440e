"""Kernels that predict: send rows through trees and add leaf values to scores."""
