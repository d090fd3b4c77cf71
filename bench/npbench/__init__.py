"""NPBench's kernels, read from a checkout of theirs, under `jit` and `jit(grad)`."""
