"""What all of ``ir`` stands on, and what it asks of the machine."""
