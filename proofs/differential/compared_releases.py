"""The releases that are asked, and the profile that answers as each of them."""

from typing import NamedTuple

from rmqalloc.remoting import PROFILES, Profile


class Release(NamedTuple):
    """A release of RocketMQ."""

    version: str
    line: str

    @property
    def profile(self) -> Profile:
        """What the product is told to be."""
        return PROFILES[self.line]


RELEASES = {
    one.version: one
    for one in (Release("4.9.8", "4.9"), Release("5.3.3", "5.3"), Release("5.5.0", "5.5"))
}
HALVES = ("client", "delayed client", "broker")
"""The client half is compared with answers that take no time and, as a half of its own, with answers that do."""
