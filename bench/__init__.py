"""Benchmarks of autojit and its peers side by side: every figure is a ratio within one run."""
