"""Writers to one place at the same time, and somebody who looks all the while."""

import json
import os
import time
from collections import Counter
from pathlib import Path

from rmqalloc import MessageQueue
from rmqalloc.documents import store
from rmqalloc.rebalance._offset_file import merge_offsets, read_offsets
from rmqalloc.snapshot.directory import MARKER, replaced_result
from spark.writing.writers import leftovers

PARTS = 4


def in_children(works):
    """Run functions in processes of their own; how many did not end well."""
    children = []
    for work in works:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work()
                code = 0
            except BaseException as error:
                os.write(2, f"{error!r}\n".encode())
            finally:
                os._exit(code)
        children.append(child)
    return children


def race(works, look):
    """Look until all writers have ended; counts of looks, and of writers that failed."""
    children, counts = in_children(works), Counter(failed=0)
    while children:
        for _ in range(50):
            counts[look()] += 1
        for child in list(children):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                children.remove(child)
                counts["failed"] += status != 0
    return counts


def files(folder, rounds):
    """Two writers of one file."""
    path = folder / "file"
    contents = [bytes([letter]) * 20_000 for letter in b"ab"]
    store.write_file(path, contents[0])

    def work(content):
        for _ in range(rounds):
            store.write_file(path, content)

    def look():
        try:
            return "whole" if path.read_bytes() in contents else "half"
        except FileNotFoundError:
            return "none"

    return race([lambda c=content: work(c) for content in contents], look)


def directories(folder, rounds):
    """Two writers of one directory, with its marker."""
    path = folder / "directory"

    def work(letter, n):
        for _ in range(n):
            with replaced_result(path, "race") as new:
                for number in range(PARTS):
                    (new / f"part-{number}.parquet").write_text(letter * 2000)

    work("a", 1)
    return race(
        [lambda one=letter: work(one, rounds) for letter in "ab"], lambda: _look_at_directory(path)
    )


def _look_at_directory(path):
    """What a reader sees who keeps the directory open that he found; one who was overtaken begins
    anew.
    """
    try:
        folder = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return "none"
    try:
        names = sorted(os.listdir(folder))
        texts = {
            Path(f"/proc/self/fd/{folder}/{name}").read_text() for name in names if name != MARKER
        }
        marker = json.loads(Path(f"/proc/self/fd/{folder}/{MARKER}").read_text())
        is_whole = (
            len(names) == PARTS + 1
            and len(texts) == 1
            and len(texts.pop()) == 2000
            and marker["kind"] == "race"
        )
    except FileNotFoundError:
        is_whole = False
    finally:
        is_still_there = os.path.exists(path) and os.path.samestat(os.fstat(folder), os.stat(path))
        os.close(folder)
    return "whole" if is_whole else "half" if is_still_there else "overtaken"


def offsets(folder, rounds):
    """Two processes that merge offsets of their own queues into one file; what one has stored is
    never gone.
    """
    path = folder / "client" / "group" / "offsets.json"
    merge_offsets(path, {MessageQueue("t", one, 0): 0 for one in "ab"})

    def work(broker):
        for offset in range(1, rounds + 1):
            merge_offsets(path, {MessageQueue("t", broker, 0): offset})

    def look():
        found = read_offsets(path)
        return "whole" if len(found) == 2 else "half" if found else "none"

    counts = race([lambda one=broker: work(one) for broker in "ab"], look)
    counts["lost"] = sum(
        read_offsets(path).get(MessageQueue("t", one, 0)) != rounds for one in "ab"
    )
    return counts


def firsts(folder, rounds):
    """Two writers of files that are not there yet: one of them is first, each time."""
    won = folder / "won"
    won.mkdir()

    def work(letter):
        mine = [store.create_file(folder / f"{n}", letter.encode() * 5000) for n in range(rounds)]
        store.write_file(won / letter, json.dumps(mine))

    counts = race(
        [lambda one=letter: work(one) for letter in "ab"], lambda: time.sleep(0.001) or "looks"
    )
    both = [json.loads((won / letter).read_text()) for letter in "ab"]
    for n, (a, b) in enumerate(zip(*both, strict=True)):
        text = (folder / f"{n}").read_text()
        counts["whole" if a + b == 1 and text == ("a" if a else "b") * 5000 else "half"] += 1
    return counts


RACES = {
    "a file": files,
    "a directory": directories,
    "offsets, merged": offsets,
    "files that are not there yet": firsts,
}


def races(home, rounds):
    """Counts of each race, and what should not be."""
    for name, one in RACES.items():
        folder = home / one.__name__
        folder.mkdir()
        counts = one(folder, rounds)
        counts["left"] = len(leftovers(folder))
        yield name, counts, sum(counts[what] for what in ("half", "none", "failed", "lost", "left"))
