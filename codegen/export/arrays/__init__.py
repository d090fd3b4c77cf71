"""Programs as NumPy: a module with one function, and the helper functions that it calls."""
