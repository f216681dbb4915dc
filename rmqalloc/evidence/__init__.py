"""How it is known which strategy the clients of a group divide by: stated, reported, fitted to what
they own, or assumed.
"""

from rmqalloc.evidence.decisions import Decision, Outcome, UnansweredError, Verb
from rmqalloc.evidence.evidence import EVIDENCE_SCHEMA, Evidence, evidence_of
from rmqalloc.evidence.given_rooms import GivenRooms, read_rooms, rooms_schema, with_rooms
from rmqalloc.evidence.known_snapshot import Known, known, with_strategies
from rmqalloc.evidence.notes import evidence_lines

__all__ = [
    "EVIDENCE_SCHEMA",
    "Decision",
    "Evidence",
    "GivenRooms",
    "Known",
    "Outcome",
    "UnansweredError",
    "Verb",
    "evidence_lines",
    "evidence_of",
    "known",
    "read_rooms",
    "rooms_schema",
    "with_rooms",
    "with_strategies",
]
