"""NumPy's quantiles, histograms and extremes on traced arrays."""
