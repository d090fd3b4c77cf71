"""Parts of a function that are traced by themselves, and what exceptions leave of them."""
