"""Padding, bits, selection of elements, and conversion between positions."""
