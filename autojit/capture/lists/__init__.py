"""Lists of traced length, generators, and functions of the standard library in Python."""
