"""RocketMQ's real classes and the product, driven by the same random events and compared after
every one of them.

``python -m differential`` runs it; ``tests/support/java/differential`` is the Java side of it. A
half (``client``, ``broker``) is a module that gives

- ``sequence(rng, release)``: a dict with ``config`` and ``events``, made by that `random.Random`
  alone;
- ``Twin(config, release)``: the product with its transport stubbed; ``after(event)`` lets one event
  happen and returns what is seen then, in the form in which the Java side prints it (dicts, lists,
  text, whole numbers, booleans and None).

Nothing may be left to chance on either side. Where a difference cannot be helped, it stands in
`tolerated.TOLERATED`.
"""
