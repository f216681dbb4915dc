"""Questions about an allocation: how even it is, what a change would do, and the same for millions of groups.

``metrics``
    Figures of an owners vector, unit by unit.
``batch``
    Arrow record batches of units in, owners and figures out; a bad row is reported in its own row.
``bulk``
    The same from Parquet to Parquet on the threads of one machine.
``totals``, ``flags``
    The sums of a run, and what the command lines call the parameters of a strategy.
"""
