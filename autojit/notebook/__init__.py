"""HTML output for notebooks and web pages."""
