"""Arrays on GPUs: transfers of trees in both directions, and NumPy's functions on them."""
