"""Questions about an allocation: how even it is, what a change would do, and the same for millions of groups.

``scenarios``
    Changes to try, as data: from YAML and JSON files, dictionaries and tables; done to whole fleets.
``plan``
    Arrow record batches of units in, figures before and after every scenario out; a bad row is reported in its own rows.
``names``
    The same by name: the client of every queue, and what every client and host carries over all topics and groups.
``plans``
    The same for a snapshot of a cluster: saved plans, gates, strategies side by side, and why a client owns a queue.
``audit``
    What is wrong with a cluster, or was going to be: findings that name the queues and the clients.
``rollout``
    Changes made step by step: restarts, another strategy, topic, number of queues, a broker's maintenance.
``advice``
    What to do about it: numbers of clients, virtual nodes, even lists for CONFIG.
``metrics``, ``movement``
    Figures of an owners vector, unit by unit; what a change moves.
``bulk``
    Plans from Parquet to Parquet on the threads of one machine.
``totals``, ``worst``, ``quarantine``
    What a run of many units comes to: its sums, its worst groups, its bad rows with all that was in them.
``rules``, ``flags``
    Strategies by name; what the command lines call the parameters of a strategy.
``planning``
    The parts of ``plan``.
"""
