"""``autojit coverage``: which functions of NumPy and SciPy take traced arrays."""
