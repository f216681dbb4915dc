"""A stream of live plans among hostile events, killed and started again: its state beside that of
the good events alone.
"""
