"""Programs as source code that stands by itself: NumPy, Numba and C."""
