"""Device programs are printed as numba.cuda source.

    kernels     one kernel as a Python function
    lines       the lines of a kernel, and the names in them
    statements  a statement as lines of Python
    words       the scalar vocabulary; ``helpers`` has device functions for missing words
    special     functions of scipy.special

A printer makes no decisions: it only translates the device program to Python.
"""
