"""Passes over loop nests, one a file."""
