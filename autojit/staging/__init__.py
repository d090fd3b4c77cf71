"""From a Python function to a program, and from a program to an executable."""
