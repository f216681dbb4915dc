"""Recorded answers of RocketMQ's own classes, for authors of clients in any language, and the
product under them.
"""
