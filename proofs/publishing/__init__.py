"""Plans of the Spark job are seen whole or not at all: ``python -m publishing``."""
