"""Commands about this installation: its cache, its parts."""
