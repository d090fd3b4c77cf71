"""NPBench's kernels, read from a checkout of NPBench, under `jit` and `jit(grad)`."""
