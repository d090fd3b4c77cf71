"""Loops and branches as functions."""
