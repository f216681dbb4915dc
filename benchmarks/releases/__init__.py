"""Sizes, counts, times and memory of every release, one committed file each, and the page that
charts them.

    python -m releases measure WHEEL --version 0.1.0    # writes benchmarks/releases/0.1.0.json
    python -m releases page                             # writes benchmarks/releases/performance.md and its charts
    python -m releases check WHEEL [--quick]            # against the newest committed file; ends with 1 beyond a bound

All is measured from a wheel that is unpacked into an empty folder, so every release is measured by
the same program.
"""
