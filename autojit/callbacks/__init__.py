"""Functions that traced and compiled code calls as they are."""
