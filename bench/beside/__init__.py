"""Programs are compared with the library that their author would otherwise use: SciPy, Numba or
PyTorch."""
