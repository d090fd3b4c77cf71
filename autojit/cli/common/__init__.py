"""Parts that all commands share: options, arguments, targets, failures, and the terminal."""
