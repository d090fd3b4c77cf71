"""Simplification rules, by the ops that they are about."""
