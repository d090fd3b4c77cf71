"""All stages of a compilation on one page, each line beside the user's line that it comes from."""
