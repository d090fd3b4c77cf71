"""The machine that code runs on: the compiler, the library of shared functions, threads."""
