"""Simplification rules, by the ops to which they apply."""
