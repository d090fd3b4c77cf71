"""Padding, and functions that say or change how elements are counted."""
