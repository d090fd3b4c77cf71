"""Rewriting: the walk that passes share, folding, common subexpressions and dead code."""
