"""Lists whose length is a value, generators, and functions of the standard library in Python."""
