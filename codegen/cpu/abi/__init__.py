"""What native code knows of CPython and NumPy."""
