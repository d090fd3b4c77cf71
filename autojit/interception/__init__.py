"""Replaces names that NumPy does not dispatch while a function is traced."""
