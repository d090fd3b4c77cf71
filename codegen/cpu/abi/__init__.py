"""The binary interface of native code to CPython and NumPy."""
