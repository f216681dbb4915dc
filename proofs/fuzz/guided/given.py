"""Bytes of a fuzzer as numbers, choices and text; what is taken beyond their end is 0, so every
input means something.
"""

_PIECES = (
    "a",
    "b",
    "-",
    "@",
    "é",
    "订",
    "😀",
    "\ud800",
    "\udfff",
    "\x00",
    "\uffff",
    "\ue000",
    "0",
    "7",
    "12",
    "9999999999",
)


class Given:
    """What is left of an input."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, n_bytes=1):
        """An unsigned number of so many bytes."""
        part = self.data[self.at : self.at + n_bytes]
        self.at += n_bytes
        return int.from_bytes(part, "little")

    def below(self, n):
        """A number below n."""
        return self.number(1 if n <= 256 else 4) % max(n, 1)

    def one_of(self, choices):
        """One of some choices."""
        return choices[self.below(len(choices))]

    def size(self, most):
        """A size, small ones as likely as all others together."""
        byte = self.number()
        return min(byte % 8 if byte < 128 else (byte - 127) * most // 128, most)

    def many(self, most, make):
        """A list of up to so many."""
        return [make() for _ in range(self.size(most))]

    def text(self, most=12):
        """Any text, half of a character and characters beside the borders of encodings included."""
        if self.number() % 4 == 0:
            return "".join(map(chr, (self.number(3) % 0x110000 for _ in range(self.size(most)))))
        return "".join(self.one_of(_PIECES) for _ in range(self.size(most)))

    @property
    def is_over(self):
        """Whether all bytes were taken."""
        return self.at >= len(self.data)
