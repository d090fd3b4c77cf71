"""Gradients, Jacobians, batching, checkpoints, custom derivatives."""
