"""How much every strategy moves, and Kafka's assignors on the very same histories.

A history is a group over time: its client lists, one after the other. `histories` makes them,
`replay` gives the owners of all their steps in one call of the engine (`kafka` has Kafka's real
classes do the same), `least` says what a stateful assignor would move, `figures` compares, `bounds`
holds what our own strategies promise.

    python -m movement                                     # the page
    python -m movement --quick                             # few trials of the small shapes
    python -m movement --report build/evidence/movement.md  # the page, written to a file

``PYTHONPATH`` must name the folders ``benchmarks`` and ``tests/support``.
"""
