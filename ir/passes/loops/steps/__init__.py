"""What the steps of loops do: parts of the passes over loops."""
