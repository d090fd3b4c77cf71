"""Programs as self-contained source code: NumPy, Numba and C."""
