"""The vocabulary of LLVM IR: scalars, counted loops, vectors."""
