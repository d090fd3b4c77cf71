"""Parts of the passes over rows: what may be done, whether it pays, and what is written."""
