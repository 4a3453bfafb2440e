"""Read and check tables, targets and sample weights as users pass them."""
