"""Passes over loops of the program."""
