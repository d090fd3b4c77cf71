"""The device program describes the work of a GPU as data: kernels over threads and blocks.

    nodes     statements about threads, kernels, and programs
    calls     calls of libraries
    text      the readable text of programs
    numbers   new scalars and accumulators
    failures  the failures in kernels, and their places in the status
    traffic   the bytes that a kernel reads and writes, counted from its statements

Statements of the loop IR describe the computation of each thread.
"""
