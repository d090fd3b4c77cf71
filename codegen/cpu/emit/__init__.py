"""Kernels in LLVM IR."""
