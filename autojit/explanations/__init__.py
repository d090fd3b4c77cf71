"""Explains compiled code, and the reasons for its form: ``jit(f).explain(*args)``."""
