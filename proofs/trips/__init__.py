"""How far a command line travels through the house."""
