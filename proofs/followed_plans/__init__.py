"""Files of plans changed anywhere, their digests recomputed, and followed through everything that
reads them.
"""
