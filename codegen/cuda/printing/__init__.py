"""Device programs as numba.cuda source.

    kernels     one kernel as a Python function
    lines       the lines of a kernel, and the names in them
    statements  a statement as lines of Python
    words       the scalar vocabulary; ``helpers`` are device functions for what is missing
    special     functions of scipy.special

A printer decides nothing: it says in Python what the device program says.
"""
