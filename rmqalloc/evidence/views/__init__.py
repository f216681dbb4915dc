"""What every client of a group divides, and by which strategy.

Clients share no state: each divides the queues that it sees by its own strategy, over the client
list that a broker gave it. A view is what some of them divide alike. A group whose clients have one
view is an ordinary unit; where views differ, a queue may have no owner or several.

``view``
    What a client divides.
``unit_views``
    The views of a group for one topic, and which clients take which queue.
``group_views``
    The views of a group, read from a snapshot.
"""
