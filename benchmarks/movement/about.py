"""What must be known to read the page."""

from movement.groups import ID_KINDS
from movement.histories import N_WALK_STEPS, SEED
from movement.speed import FLEET_SHAPE

_KINDS = "; ".join(f"*{kind}*: {text}" for kind, text in ID_KINDS.items())

HEAD = f"""# Movement

How much each strategy moves, and Kafka's own assignors on the same histories (the real classes: {{kafka}}). Made by
`make movement` (`benchmarks/movement/`). Everything but times follows from the seed {SEED}; trials stand beside each shape, and
a trial has a topic and client ids of its own. `±` is half the width of the 95% confidence interval over trials.

**The least** is what an assignor moves that remembers its last answer and keeps max − min ≤ 1: of one event exactly
the fewest queues that can move (from the contender's own allocation where that is balanced), of restarts and walks the sum of
its steps. A strategy that is less even than that may move less.
`tests/proofs/test_movement.py` holds it to a brute force.

Client ids: {_KINDS}.

- *leave*, *2nd leave*, *3rd leave*: one client after the other goes for good; if ids hold slots, never the highest one.
  *join*: a client starts in the next slot. *scale in*: it goes again.
- *walk*: {N_WALK_STEPS} clients up or down, between half as many clients and one and a half times as many; any client may go,
  a new one takes the lowest free slot. In total over the least.
- *Restarts* restart every client once. Without surge a batch goes, then comes back, the highest slot first. With surge and
  slots as many clients start first, in the next free slots, and go last; with random ids each batch starts before as many
  old ones go.
- *spread* is max − min of the loads, mean and largest, and *idle* the share of clients without queues, in all states of
  leaves and joins.

Kafka's members are dynamic ones; a member that comes back owns nothing. The cooperative assignor is asked a second time where
it only revoked, as its protocol does. Client-side strategies do not reach POP and gRPC groups, which brokers divide."""

SUMMARY = """Queues/clients. In each cell: largest spread · leave over the least · join over the least · moves per queue of a
restart one by one · walk over the least; ids of slots."""

QUEUE_LISTS = """Ids of slots; topics: {topics}. In each cell: join over ⌊queues / clients⌋, averaged over all numbers of
clients of the range · remaining queues that move if a random broker goes, over those of AVG · old queues that move if each
broker gets half as many queues more, over those of AVG. Kafka's partitions belong to no broker."""

SINGLE_SIZES = """ORDINAL alone, ids of slots; topics: {topics}. In the ranges of the table above, and in two with few
queues for a client, each number N of clients stands for itself: the mean of all N but the first, then the largest, and its N.

- *join*: the client that makes it N starts in the next slot. Over the least.
- *highest leaves*: of N clients that of the highest slot goes. Over the least; *others too*: share of topics in which queues of
  other clients move then. Of any other slot a first leave moves its own queues and no others (*leave* is 1.00 above).
- *restart*: all N one by one, moves per queue. The queues of every slot but the highest move exactly twice for it.

Where clients have one or two queues, the least is one or two, so few queues more are a large multiple."""

SKEWS = """Largest over mean load of {clients} clients with {topics} topics of 4 queues, {sets} sets of topic names. Kafka's
uniform and sticky assignors divide all topics of a group at once."""

SPEED = f"""Nanoseconds per queue of CPU time, one thread, in the same run as all of the above.

- *One group*: medians of `assign(queues, client_ids)`, with Python objects in and out, less the same with one queue and
  one client, so without what our call costs by itself; ids and queues are hashed each time. In brackets all of the call.
- *Kafka*: the assignor's own call alone in a warm JVM, all arguments made before: with members that own nothing · after one of
  them has left.
- *Fleet*: {{units:,}} groups of {FLEET_SHAPE[0] * FLEET_SHAPE[1]} queues and {FLEET_SHAPE[2]} clients, each with a topic and
  ids of its own.

Strategies with machine rooms are left out: functions of Python give the rooms here."""

PROMISES = """A sum of a leave and a join is of random ids and of the one size that it names, queues/clients: a client leaves,
over the least, plus one client joins, over queues / (clients + 1), which is what the mean client then has. The tables of a size
count that join over the least, which is rounded down, so the sum of their figures is larger, for ids with slots as well. A join
of ORDINAL is the mean over the numbers of clients beside it; a single number may have more, see above."""
