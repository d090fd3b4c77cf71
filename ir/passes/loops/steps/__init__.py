"""Analyses of loop steps, used by the passes over loops."""
