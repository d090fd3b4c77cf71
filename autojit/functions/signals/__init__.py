"""Interpolation, and products with shifted rows."""
