"""The planning job: ``python -m spark_udfs.job`` plans the groups of files or tables and publishes the plan.

``command``
    The command line.
``planning_job``
    The job itself: cut the source into buckets, plan those that are missing, publish.
``sources``, ``versions``
    Data sources, cut into buckets and pinned; versions of Delta and Iceberg tables.
``by_file``, ``by_frame``
    One bucket planned by a worker that reads Parquet itself; one planned as a DataFrame.
``published``
    When a plan is complete: records of buckets, and the manifest. The rules of publishing stand here.
``output``, ``output_layout``, ``hadoop``
    The output directory as the job sees it; on a disk; through Spark's Hadoop client.
``into_table``, ``tables``
    A plan in a Delta or Iceberg table, in one commit; which tables take plans.
``plan_reader``
    Complete plans for readers without Spark.
``on_worker``, ``progress``, ``plan_summary``
    Functions called on a worker; progress and memory; totals and worst groups.
"""
