"""Rewriting: the walk that passes share, folding, common subexpressions, dead code."""
