"""What the passes over rows write: the steps of tiles, and the loops of one-hot rows."""
