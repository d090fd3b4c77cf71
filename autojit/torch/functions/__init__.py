"""PyTorch's functions, as NumPy's functions on the arrays of tensors."""
