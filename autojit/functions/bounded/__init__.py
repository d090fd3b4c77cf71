"""Parts of arrays whose bounds are traced integers: slices with a length that is a value."""
