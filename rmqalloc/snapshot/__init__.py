"""What a cluster looks like: its topics, brokers and consumer groups, on disk and in columns.

``synthetic``
    A made-up fleet of any size with the shape of a real one.
``directory``
    Directories of Parquet files that are replaced as a whole or not at all.
"""
