"""Cliffs: inputs on which one odd unit, one repeated id or one unlucky shape would make everything
many times slower.

Every row compares two amounts of work and has a bound that the factor between them must keep. Work
is counted and not timed: `kernels` counts instructions by callgrind, `verbs` counts operations, so
a busy machine changes nothing.

    python -m cliffs                            # the table; 1 if a factor is above its bound
    python -m cliffs --quick                    # rows that take long are left out
    python -m cliffs --part kernels             # strategies and kernels alone
    python -m cliffs --docs benchmarks/results.md  # the table, put into the marked section of a file

``PYTHONPATH`` must name the folder ``benchmarks``.
"""
