"""A real cluster whose servers are killed and taken off, and all that a service says of it then."""
