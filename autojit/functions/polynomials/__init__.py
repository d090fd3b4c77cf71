"""NumPy's polynomials on traced coefficients and points."""
