"""Whole commands by process, beside what a person would write instead: DuckDB, Polars, pyarrow,
NumPy with hashlib.

    python -m commands                       # 100,000 and a million units
    python -m commands --units 10000000      # one size
    python -m commands --runs 9 --docs FILE  # the table, put into the marked section of a file

``PYTHONPATH`` must name the folder ``benchmarks``. All contenders of a size run in turns, as
processes of their own, from Parquet to Parquet; before that the owners that they write are
compared. The rivals do not sort, know no duplicates, check nothing and give no figures; `rmqalloc
bulk` does all of it.
"""
