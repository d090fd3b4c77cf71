"""PyTorch's functions, implemented by NumPy functions on the arrays of tensors."""
