"""Executables: programs compiled, kept on disk, and called."""
