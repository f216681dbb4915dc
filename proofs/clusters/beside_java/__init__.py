"""Python members and Java members in one group of a real cluster: who owns what after every event,
and every message.
"""
