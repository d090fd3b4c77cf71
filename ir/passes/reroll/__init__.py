"""Re-rolling: what Python unrolled while it was traced becomes loops and array operations again."""
