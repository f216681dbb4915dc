"""Saved plans that prove themselves: their inputs, the way back, and a checker that shares no code with planning.

``_checker``, ``_form``, ``_loops``, ``_plain_rules``, ``_named_rules``, ``_unit_states``
    The checker. These five files import the standard library alone; copied to another machine they work there.
``_inputs``, ``_way_back``
    What `rmqalloc.plans` writes into a plan's file for it.
"""

from rmqalloc.certificate._inputs import inputs_of
from rmqalloc.certificate._verification import Verification, VerificationError, read_key, verify
from rmqalloc.certificate._way_back import ways_back

__all__ = ["Verification", "VerificationError", "inputs_of", "read_key", "verify", "ways_back"]
