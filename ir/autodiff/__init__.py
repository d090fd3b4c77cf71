"""Differentiation and batching of programs: linearize, transpose, batch, partition, residuals."""
