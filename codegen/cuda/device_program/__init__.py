"""What a GPU runs, as data: kernels over threads and blocks.

    nodes     statements about threads, and the kernels and programs that they make up
    text      their readable text
    numbers   new scalars and accumulators
    failures  what can go wrong, and its place in the status
    traffic   how many bytes a kernel reads and writes, counted from its statements

What one thread computes is said in the statements of the loop IR.
"""
