"""Recommendations: how many clients, how many points on a ring, and a list of queues for each client that is perfectly even.

``advise``
    `advise`: a snapshot in, advice for every group out.
``model``
    What advice is: tables, lists for CONFIG, and what a person would say.
``present``
    Who has which queue now.
``sizing``, ``rings``, ``config``, ``rooms``
    Numbers of clients; virtual nodes; lists of queues; machine rooms without clients.
``sentences``
    The numbers in words.
"""
