"""Files of plans changed anywhere, their digests made anew, and followed through everything that reads them."""
