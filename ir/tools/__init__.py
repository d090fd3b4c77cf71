"""Programs as text and as graphs, checked, and run by the reference interpreter."""
