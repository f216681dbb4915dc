"""A day in fast motion on a real cluster: what is told of it is what happened, and memory stays flat."""
