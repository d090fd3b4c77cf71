"""Programs as loops that one can read: C, and Python for Numba."""
