"""Suites of other projects, which are run on autojit from a checkout of theirs."""
