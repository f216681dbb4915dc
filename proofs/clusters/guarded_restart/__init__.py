"""A rolling restart of real consumers, each stop allowed by the guard; and the same without it."""
