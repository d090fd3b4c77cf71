"""HTML output for notebooks and pages."""
