"""Commands about this installation: its cache, its parts, its documentation of mistakes."""
