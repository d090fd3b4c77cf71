"""Passes that move, merge and share arithmetic."""
