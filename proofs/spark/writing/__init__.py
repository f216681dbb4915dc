"""Every writer, killed, interrupted and refused at every call that changes a file: ``python -m
interrupted_writes``.
"""
