"""Ownership in any state: each queue with its reader or its set of readers, and the figures that
follow.

Names are numbered once for all states, so that states are compared queue by queue. Every
figure is read from there: of a queue, of a client on a topic, of a unit and of a group, each the
sum over the one below.

``reader_sets``
    Clients as numbers, those that share an id apart, and sets of several readers as numbers behind
    them.
``_mixed_units``
    The readers of units whose clients have several views, share an id or share the queues.
``states``
    Units in every state, their names as numbers; the clients of each with their loads.
``between``
    Two states compared: the queues that move, and those that each client gains and loses.
``unit_figures``, ``group_figures``
    The figures of units whose queues may have several readers (all others come from the evaluator),
    and those of groups.
``queue_states``, ``present_states``
    Who owns each queue of a snapshot now, and how that is known: one table decides.
``named_states``
    States that are known by their names alone, as numbers beside one another.
"""
