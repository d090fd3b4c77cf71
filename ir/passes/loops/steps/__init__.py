"""Analyses of loop steps: parts of the passes over loops."""
