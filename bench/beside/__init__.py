"""Programs beside the library that their author would use else: SciPy, Numba or PyTorch."""
