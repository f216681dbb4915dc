"""One read-only process beside a running cluster: metrics, JSON and a page.

Goals, in this order: the cluster receives nothing but reads; an answer is of one whole reading and
its age, never a mixture; no request can block the process, however hostile; the documents are those
of the commands.

``readings``
    The thread that reads the cluster, and the state that it publishes: replaced in one step, never
    changed.
``metrics``, ``tallies``
    That state for Prometheus; counts since the process began.
``cluster_answers``, ``group_answers``
    The documents of the commands, from the state and the parameters of a request.
``web_app``, ``front_door``, ``workers``, ``http_server``
    HTTP: paths; access and time limits; heavy answers on few threads; the server and its
    limits.
"""
