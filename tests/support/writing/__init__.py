"""Every writer of the product, killed, interrupted and refused at every call that changes files: ``python -m writing``."""
