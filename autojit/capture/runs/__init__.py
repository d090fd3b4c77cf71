"""Runs of functions that call themselves, each from its beginning or from a recursive call on."""
