"""Members that a broker refuses: what their start does, what the log says, and what health() says."""
