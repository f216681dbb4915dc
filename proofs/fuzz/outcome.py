"""What a run of the fuzz comes to."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """Inputs given to one reader, and what came of them.

    Attributes
    ----------
    name : str
        The reader.
    inputs : int
    errors : dict of str to int
        How many inputs ended in which of the reader's own errors; ``read`` counts those that were
        taken.
    tracebacks : list of str
        What any other error said, once for each place that it came from.
    worst_seconds : float
    worst_seconds_input : bytes
    worst_memory : int
        Bytes: by how much the high-water mark of the process's resident memory (``ru_maxrss``) rose
        while inputs were read, all rises together; a run has a process of its own.
    worst_memory_input : bytes
        The input that raised it last.
    """

    name: str
    inputs: int
    errors: dict[str, int]
    tracebacks: list[str]
    worst_seconds: float
    worst_seconds_input: bytes
    worst_memory: int
    worst_memory_input: bytes
