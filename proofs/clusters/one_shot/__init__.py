"""What a running service says, compared with a single reading, while each source is down in turn."""
