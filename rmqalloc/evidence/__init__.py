"""How it is known which strategy the clients of a group divide by: stated, reported, fitted to what they own, or assumed."""

from rmqalloc.evidence._known import doubtful, evidence_lines, with_strategies

__all__ = ["doubtful", "evidence_lines", "with_strategies"]
