"""One read-only process beside a running cluster: metrics, JSON and a page over what the rooms
below answer.

In this order of goals: nothing is ever sent to the cluster but reads; what is served is one whole
reading and its age, never a mixture; no request can hold the process up, however hostile; the
documents are those of the verbs.

``readings``
    The thread that reads the cluster, and the state that it leaves: swapped in one step, never
    changed.
``metrics``, ``tallies``
    That state for Prometheus; what has been counted since the process began.
``cluster_answers``, ``group_answers``
    The same documents as the verbs, from the state and the parameters of a request.
``web_app``, ``front_door``, ``workers``, ``http_server``
    HTTP: paths; who may ask, and for how long; heavy answers on few threads; the server and its
    limits.
"""
