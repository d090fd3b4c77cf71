"""Parts of source code: expressions, names, and the user's statements."""
