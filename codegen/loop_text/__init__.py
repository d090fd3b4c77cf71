"""Loop programs as text: printed, parsed, compared, and run by the reference interpreter."""
