"""NumPy's quantiles, histograms, and what follows from an order, on traced arrays."""
