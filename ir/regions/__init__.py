"""Ops with bodies: loops, branches, checkpoints, custom derivatives, implicit functions."""
