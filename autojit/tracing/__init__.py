"""Traces: contexts, the traced array, views, arrays that are captured and created."""
