"""Implicit functions, searches and differential equations."""
