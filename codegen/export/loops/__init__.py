"""Programs as readable loops: C, and Python for Numba."""
