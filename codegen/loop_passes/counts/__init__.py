"""Parts of `counted_loops`: which loops count, what they become, and sums in them."""
