"""Structured fuzz of everything that reads what comes from outside: `python -m fuzz -h`."""
