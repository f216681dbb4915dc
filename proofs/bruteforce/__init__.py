"""Brute force: every verb's answers worked out once more from the specification, client by client
and queue by queue.

Nothing that an answer is compared with comes from rmqalloc, nor from the slow twin of the other
tests: hashlib, and loops that ask every client alone. Snapshots are random, made by `clusters` as
plain documents, and every case is found again by the name of its verb, the seed and its number.

``python -m bruteforce --snapshots 1000 --seed 1`` runs the long form,
`tests/plans/test_bruteforce.py` a short one. Of planning this is the one second implementation:
`twin.checked` holds any plan to it to the letter, `rows` any row of a batch.

``java``, ``go``, ``own_strategies``
    The strategies, one client at a time; those that RocketMQ does not ship by the pages that define
    them.
``clusters``, ``mixed_cases``, ``random_changes``
    Random snapshots and scenarios.
``planned``
    Units, and what changes make of them.
``mixed``
    Who reads what in a unit, every client asked with every list that it may be given; states before
    and after a scenario.
``figures``, ``tables``, ``twin``, ``rows``, ``matching``
    What follows from two states: figures, the tables and ways back of a plan, the rows of a batch.
``audited``, ``rolled``
    What audits and rollouts should say.
``totals``, ``openings``, ``open_seconds``, ``gated``, ``outcomes``
    Sums over topics and groups; what is open while clients follow, by all sets of informed clients,
    and for how long; bounds; the snapshot to which a plan leads.
``verbs``, ``mixed_verbs``, ``outcome_verbs``, ``rollout_verbs``
    A verb's cases, and the comparison with what the product says.
``states``, ``decisions``, ``state_cases``, ``state_verbs``
    The tables of states and of decisions, written a second time; snapshots in which reported,
    computed and unknown meet; all verbs, the service, history, assistants' tools and exit codes
    beside these tables.
``runs``, ``shrink``
    Many cases; a smaller one that still differs.
"""
