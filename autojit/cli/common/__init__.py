"""What all commands share: options, arguments, targets, failures, the terminal."""
