"""What a block may change: names, places in containers, and what they hold."""
