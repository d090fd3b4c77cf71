"""Loop programs as text that reads back, compared, and run by the reference interpreter."""
