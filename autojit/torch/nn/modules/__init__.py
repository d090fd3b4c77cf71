"""The modules: parameters and settings, and calls of the functions."""
