"""Passes over the loops of a program."""
