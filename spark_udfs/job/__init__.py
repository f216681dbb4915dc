"""The planning job: ``python -m spark_udfs.job`` plans the groups of files or tables and publishes the plan.

``command``
    The command line.
``planning_job``
    The job itself: read, plan, publish.
``sources``, ``by_file``, ``by_frame``
    What is planned: data sources; one task a file; one task a partition of a frame.
``output``, ``output_layout``, ``manifests``, ``published``, ``versions``
    Where a plan lies, how its directories are laid out, and when it counts as published.
``on_worker``, ``progress``, ``plan_summary``, ``hadoop``
    What runs on a worker; progress for people; totals and worst groups; file systems of Hadoop.
"""
