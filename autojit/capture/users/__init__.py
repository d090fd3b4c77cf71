"""What the capture knows of the classes that users write."""
