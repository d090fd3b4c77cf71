"""Device programs as numba.cuda source.

kernels      one kernel as a Python function
statements   a statement as lines of Python
words        the scalar vocabulary; ``helpers`` are device functions for what is missing
"""
