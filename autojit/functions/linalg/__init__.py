"""Products, factorizations and formulas of matrices."""
