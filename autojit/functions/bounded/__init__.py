"""Parts of arrays with traced bounds: slices of traced length."""
