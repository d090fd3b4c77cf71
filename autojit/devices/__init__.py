"""Arrays on GPUs: bringing trees there and back, and NumPy's functions of them."""
