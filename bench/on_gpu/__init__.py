"""Programs on a GPU, beside JAX, PyTorch and CuPy: ``python -m bench.on_gpu``.

namespace   what a text may use of a library
texts       one text of each program for all libraries, and its arguments
programs    the programs, their sizes, and what is demanded of them
libraries   the libraries: how each compiles and calls a program on its arrays
run         one library's process, which times the programs and saves parts of the results
table       what the processes have found: a table, and whether each demand holds
"""
