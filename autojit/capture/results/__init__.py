"""What compiled functions return, if it depends on values in more than its numbers."""
