"""Implicit functions and differential equations."""
