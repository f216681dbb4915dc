"""Mutants that are made by rules: a sample of every room, and the tests that notice them."""
