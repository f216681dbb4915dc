"""Ownership in any state: each queue with its reader or its set of readers, and the figures that
follow.

Names are numbered once for all states, so that states lie beside one another queue by queue. Every
figure is read from there: of a queue, of a client on a topic, of a unit and of a group, each the
sum over the one below.

``reader_sets``
    Clients as numbers, those that share an id apart, and sets of several readers as numbers behind
    them.
``mixed_units``, ``popped_queues``
    Who reads what where the clients of a unit have several views, share an id or share the queues.
``states``
    Units in every state, their names as numbers; the clients of each with their loads.
``between``
    Two states beside one another: what moves, and what each client gains and loses.
``unit_figures``, ``group_figures``
    The figures of units whose queues may have several readers (all others come from the evaluator),
    and those of groups.
``named_states``
    States that are known by their names alone, as numbers beside one another.
"""
