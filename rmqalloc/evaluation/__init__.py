"""The parts of `rmqalloc.evaluation.plan_batch`: rows read and refused, scenarios worked out, figures put in their rows.

``sizes``, ``units``
    How large rows are before they are read; the good ones as fleets, the bad ones with their reasons.
``owners``, ``before``
    Owners of queues again and again; units before any change, those that cannot be assigned apart.
``kinds``, ``outcomes``
    Units that come to the same; figures before and after every scenario.
``table``
    The table of a plan.
"""
