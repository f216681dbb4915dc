"""What client-go computes otherwise than Java under the same name, from its public functions: one
client asks for itself.
"""

import zlib
from bisect import bisect_right


def consistent_hash(rule, current, queues, ids, points_of, text_of):
    """The first point after a queue's own; clients put theirs one after the other, the last writer
    wins.
    """
    holder = {}
    for one in ids:
        for k in range(rule.get("virtual_nodes", 10)):
            holder[point(points_of, f"{k}{one}")] = one
    points = sorted(holder)
    at = (bisect_right(points, point(points_of, text_of(queue))) % len(points) for queue in queues)
    return [
        queue for queue, place in zip(queues, at, strict=True) if holder[points[place]] == current
    ]


def point(bytes_of, text):
    return zlib.crc32(bytes_of(text))


def machine_room(rule, current, queues, ids):
    """So many of all queues as the rooms have, and what is over of the rooms' own."""
    kept = [
        queue
        for queue in queues
        if queue[1].count("@") == 1 and queue[1].split("@")[0] in rule["machine_rooms"]
    ]
    share, rest = divmod(len(kept), len(ids))
    i = ids.index(current)
    return queues[i * share : (i + 1) * share] + ([kept[share * len(ids) + i]] if i < rest else [])
