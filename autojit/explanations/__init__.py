"""What compiled code does, and why: ``jit(f).explain(*args)``."""
