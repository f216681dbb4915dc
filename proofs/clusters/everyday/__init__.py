"""A day in fast motion on a real cluster: what is reported is what happened, and memory stays flat."""
