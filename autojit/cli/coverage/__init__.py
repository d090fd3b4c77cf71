"""``autojit coverage``: the functions of NumPy and SciPy that accept traced arrays."""
