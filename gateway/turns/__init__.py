"""One visitor message from receive to publish."""
