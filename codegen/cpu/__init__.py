"""The CPU target: loop nests to LLVM IR, compiled by Numba's code generator."""
