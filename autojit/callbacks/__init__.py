"""Functions that are called as they are from traced and compiled code."""
