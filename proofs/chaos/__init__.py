"""A search for fault schedules under which a simulated group breaks an invariant, and the smallest
script of each. And random readings of a cluster, whose history is judged at every moment.
"""
