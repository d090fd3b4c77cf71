"""Parts of the passes over rows and blocks: legality, cost, and what is written."""
