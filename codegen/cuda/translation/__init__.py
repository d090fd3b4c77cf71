"""Printed device code is translated to LLVM IR for NVVM.

    kinds           scalar kinds, values, and their LLVM types and constants
    body            the lines of one LLVM function: temporaries, blocks, variables
    arithmetic      conversions, operators and comparisons
    expressions     Python expressions
    calls           casts, mathematical functions, CUDA's functions, atomic updates
    statements      Python statements
    module          kernels and device functions, as a module of LLVM IR

The text is a small part of Python (``printing/``): scalars with explicit casts, arrays of one axis,
``while`` loops.  Numba compiles the same text to the same code, but its analysis of Python takes
nine tenths of the time (record 0119).
"""
