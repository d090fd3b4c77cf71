"""Elements of arrays that no later step of a loop changes: its derivative reads them at its end."""
