"""NumPy's protocols on traced arrays: promotion, the table of functions, lists, and ufuncs."""
