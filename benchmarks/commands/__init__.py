"""Whole commands, and kernels, beside what a person would run instead; every row is a ratio.

    python -m commands                        # all tables
    python -m commands --units 10000000       # one size of one table
    python -m commands --docs FILE            # the tables, put into the marked sections of a file
    python -m commands --quick                # small sizes, against the committed medians
    python -m commands --medians              # these medians, measured and written

``PYTHONPATH`` must name the folder ``benchmarks``. All contenders of a heat run in turns, as
processes of their own; the answers of rivals are compared first. The rivals do not sort, know no
duplicates, check nothing and give no figures; `rmqalloc bulk` does all of it.
"""
