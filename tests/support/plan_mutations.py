"""Documents with one thing changed anywhere: a value, its type, a key or row more or less, or in
another place.
"""

import copy
import hashlib
import json


def places(data, random):
    """A way down into a document, each step as likely as any other of its level; it may end at any
    depth below the top.
    """
    parts = []
    while isinstance(data, dict | list) and data and (not parts or random.random() < 0.93):
        key = random.choice(list(data) if isinstance(data, dict) else range(len(data)))
        parts.append(key)
        data = data[key]
    return parts


def at(data, parts):
    for part in parts:
        data = data[part]
    return data


def mutated(document, random):
    """A document with one change, and where it is."""
    while True:
        changed = copy.deepcopy(document)
        *above, key = parts = places(changed, random)
        holder = at(changed, above)
        ways = [
            way
            for way in (_value, _type, _gone, _more, _moved)
            if way(holder, key, copy.deepcopy(holder), random)
        ]
        if not ways:
            continue
        random.choice(ways)(holder, key, holder, random)
        if json.dumps(changed) != json.dumps(document):
            return changed, parts


def _value(holder, key, out, random):
    """Another value of the same type."""
    old = holder[key]
    if isinstance(old, bool):
        out[key] = not old
    elif isinstance(old, int | float):
        out[key] = old + random.choice([-1, 1, 7])
    elif isinstance(old, str):
        out[key] = random.choice([old + "x", old[:-1], "x" + old, old.swapcase()])
    else:
        return False
    return out[key] != old


def _type(holder, key, out, random):
    """What means nearly the same."""
    old = holder[key]
    if isinstance(old, bool):
        out[key] = int(old)
    elif isinstance(old, int):
        out[key] = random.choice([float(old), str(old), *([bool(old)] if old in (0, 1) else [])])
    elif isinstance(old, float):
        out[key] = int(old) if old == int(old) else str(old)
    elif isinstance(old, str):
        out[key] = random.choice([[old], None])
    elif old is None:
        out[key] = random.choice([0, "", False, []])
    else:
        return False
    return True


def _gone(holder, key, out, random):
    """A key or an element less."""
    del out[key]
    return True


def _more(holder, key, out, random):
    """A key or an element more."""
    if isinstance(out, dict):
        out["added"] = random.choice([None, 0, out[key]])
    else:
        out.insert(key, copy.deepcopy(out[key]))
    return True


def _moved(holder, key, out, random):
    """Two elements in each other's place, or a key renamed."""
    if isinstance(out, dict):
        items = [(name + "s" if name == key else name, one) for name, one in out.items()]
        out.clear()
        out.update(items)
        return True
    other = random.randrange(len(out))
    out[key], out[other] = out[other], out[key]
    return holder is not out or True


def rehashed(document):
    """The document with the digest of its content, as whoever changed it would write it."""
    content = {name: one for name, one in document.items() if name != "digest"}
    text = json.dumps(content, separators=(",", ":"))[:-1]
    return content | {"digest": hashlib.sha256(text.encode()).hexdigest()}
