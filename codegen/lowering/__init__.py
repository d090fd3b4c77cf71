"""From scheduled loops to loop nests over scalars."""
