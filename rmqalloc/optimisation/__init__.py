"""The best ways to carry out a change of consumer groups: a Pareto front, and a runbook of the way
that is suggested.

``optimise``
    The verb: a snapshot, what may be chosen and goals in, an `Optimisation` out.
``ways``, ``goals``
    What there is to choose from; the figures that are kept small.
``acts``
    What is done in one way, step by step: for the replay of `rmqalloc.rollouts` and for the
    runbook.
``search``, ``group_search``
    All ways or a local search, replayed many at once; the search of one group.
``optimisation``, ``runbook``
    The result; the commands of every step.
"""

from rmqalloc.optimisation._optimisation import Optimisation
from rmqalloc.optimisation._optimise import optimise
from rmqalloc.optimisation.goals import GOALS

__all__ = ["GOALS", "Optimisation", "optimise"]
