"""The version of autojit, which is part of the name of the cache on disk."""

VERSION = "0.1.0"
