"""Traced numbers, ranges and choices, for calls, operators and lists."""
