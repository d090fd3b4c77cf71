"""autojit and its peers side by side: every figure is a ratio measured in one run."""
