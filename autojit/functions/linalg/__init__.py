"""Matrix products, factorizations, and formulas built from them."""
