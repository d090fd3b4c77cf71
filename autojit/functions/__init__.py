"""NumPy's functions on traced arrays, organised like NumPy's manual."""
