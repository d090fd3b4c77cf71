"""Linear algebra: factorizations and their derivatives."""
