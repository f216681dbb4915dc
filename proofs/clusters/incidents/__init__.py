"""Incidents on a real cluster, and whether ``check`` says what is right."""
