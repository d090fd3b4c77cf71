"""Compiled functions: signatures, native calls, retraces, static arguments."""
