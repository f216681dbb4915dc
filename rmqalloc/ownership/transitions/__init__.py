"""What happens while the clients of a group are informed of a change one by one, and for how long.

Clients share no state, and none waits for another: between a change and the moment at which the
last client has acted on it a queue may have no owner or several.

``worst_moment``
    The most queues that are open at one moment, over all sets of informed clients.
``handovers``
    Queues with who reads them before and after, and the terms of that maximum.
``hearing``
    How long it takes until a client is informed, by the timers of RocketMQ.
``open_queues``
    The figures of steps: worst and expected numbers, seconds, queue-seconds.
"""
