"""What a member of a group costs: CPU time per message beside Java's consumer, and a thousand
queues in one process.

    python -m member messages                       # 100 bytes and 4 kB: plain, async, in order
    python -m member messages --beside ../before    # and another checkout, in turns with this one
    python -m member queues                         # 1,000 queues of 50 topics, a real RocketMQ
    python -m member queues --cluster 127.0.0.1:9876

``PYTHONPATH`` must name the folders ``benchmarks``, ``tests`` and ``tests/support``. Each consumer
is a process of its own whose listener does nothing, and all are measured by one instrument, the
CPU time of the process in ``/proc``, after a warm-up. Messages come from `member.stream`, a broker
in one more process that answers every pull at once, so the consumer is all that limits the rate.
"""
