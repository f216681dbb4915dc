"""A large simulated cluster with a broker that takes connections and never answers, read within its
time and budget.
"""
