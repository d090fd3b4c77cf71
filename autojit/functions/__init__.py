"""NumPy's functions on traced arrays, by the module of NumPy's manual that they belong to."""
