"""Re-rolling: loops that Python unrolled during tracing become loops or array operations again."""
