"""The changes that a block may make: to names, to places in containers, and to their contents."""
