"""Indices, masks, offsets and arrays as nobody should give them, drawn by a `random.Random`."""

import array
import mmap

import numpy as np
from numpy.lib.stride_tricks import as_strided

HUGE = [
    2**31 - 1,
    2**31,
    2**32,
    2**40,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    2**70,
    -(2**31),
    -(2**40),
    -(2**63),
    -(2**80),
]
DTYPES = ["i1", "u1", "i2", ">i2", "<i4", ">i4", "u4", "<i8", ">i8", "u8", ">u8", "f2", "f4", "f8", "c16", "O", "U1", "S2",
          "M8[s]", "m8[s]", "V4", "?"]  # fmt: skip
ODD = [
    None,
    True,
    False,
    1.0,
    float("nan"),
    float("inf"),
    "1",
    "",
    b"1",
    ...,
    (),
    (0, 1),
    {},
    {0},
    {"a": 1},
    object,
    3j,
]


def number(random, n):
    """A position among n, beside them, or far away."""
    kind = random.random()
    if kind < 0.5:
        return random.randint(-n - 2, n + 1)
    return random.choice(HUGE) if kind < 0.8 else random.choice((0, -1, n, n - 1, -n, -n - 1))


def numbers(random, n):
    """Some positions; three times in four all of them are there."""
    size = random.choice((0, 1, 2, 3, 7))
    if n and random.random() < 0.75:
        return [random.randint(-n, n - 1) for _ in range(size)]
    return [number(random, n) for _ in range(size)]


def of_dtype(given, dtype):
    """The numbers in a dtype, those that fit it not as NumPy wraps them."""
    with np.errstate(all="ignore"):
        if dtype == "O":
            return np.array([*given, None], "O")[:-1]
        if dtype == "V4":
            return np.zeros(len(given), "V4")
        return np.array([one % 2**64 for one in given], np.uint64).astype(dtype)


def shaped(random, plain):
    """The same array laid out in another way, or of another shape."""
    return random.choice(_SHAPES)(plain)


def _read_only(plain):
    made = plain.copy()
    made.flags.writeable = False
    return made


def _mapped(plain):
    """In memory that is mapped, read-only."""
    data = plain.tobytes()
    if plain.dtype.hasobject or not data:
        return plain
    pages = mmap.mmap(-1, len(data))
    pages[:] = data
    return np.frombuffer(memoryview(pages).toreadonly(), plain.dtype)


def _unaligned(plain):
    if plain.dtype.hasobject or not plain.itemsize:
        return plain
    room = np.zeros(plain.nbytes + 1, np.uint8)
    room[1:] = np.frombuffer(plain.tobytes(), np.uint8)
    return room[1:].view(plain.dtype)


def _spread(plain):
    """Every second element of a longer one."""
    room = np.repeat(plain, 2)
    return room[::2]


_SHAPES = [
    lambda plain: plain,
    lambda plain: plain,
    lambda plain: plain,
    _read_only,
    _mapped,
    _unaligned,
    _spread,
    lambda plain: plain[::-1],
    lambda plain: plain[:0],
    lambda plain: plain.reshape(-1, 1),
    lambda plain: plain.reshape(1, -1),
    lambda plain: np.asfortranarray(np.stack([plain, plain])),
    lambda plain: np.asfortranarray(np.stack([plain, plain])).T[:, 0],
    lambda plain: plain[0] if plain.size else plain,
    lambda plain: plain[:1].reshape(()) if plain.size else plain,
    lambda plain: (
        as_strided(plain, (5,), (0,)) if plain.size and not plain.dtype.hasobject else plain
    ),
    lambda plain: (
        plain if plain.dtype.kind == "U" else plain.byteswap()
    ),  # not of text: NumPy itself cannot read that
    lambda plain: np.append(plain, plain),
    lambda plain: plain.tolist(),
    lambda plain: tuple(plain.tolist()),
    lambda plain: memoryview(plain) if plain.dtype.kind in "iu" and plain.dtype.isnative else plain,
]


def index(random, n):
    """Whatever somebody may pass for several positions among n."""
    kind = random.random()
    if kind < 0.5:
        return shaped(random, of_dtype(numbers(random, n), random.choice(DTYPES)))
    if kind < 0.65:
        size = random.choice((n, n, n, n - 1, n + 1, 0, 2 * n))
        return shaped(random, np.array([random.random() < 0.5 for _ in range(max(size, 0))], bool))
    if kind < 0.75:
        ends = [random.choice((None, number(random, n), random.randint(-n, n))) for _ in range(2)]
        return slice(*ends, random.choice((None, 1, -1, 2, -3, 0, 2**40)))
    if kind < 0.85:
        return random.choice((list, tuple))(numbers(random, n))
    if kind < 0.9:
        return array.array("q", [one for one in numbers(random, n) if -(2**63) <= one < 2**63])
    return odd(random, n)


def odd(random, n):
    """One number, or what is none."""
    kind = random.random()
    if kind < 0.3:
        return number(random, n)
    if kind < 0.5:
        made = number(random, n)
        return np.array(made % 2**64, np.uint64).astype(
            random.choice(("i1", "i4", "u8", "f8", "O", "?"))
        )[()]
    return random.choice(ODD)


def numbers_like(random, good):
    """An array instead of a good one: the same of another kind, or with other numbers in it."""
    kind, made = random.random(), np.array(good)
    if kind < 0.15:
        return odd(random, made.size)
    if kind < 0.55:
        for _ in range(random.choice((1, 1, 2)) if made.size else 0):
            value = random.choice(
                (number(random, made.size), made.item(-1) + 1, made.item(0) - 1, 0, *HUGE)
            )
            made[random.randrange(made.size)] = np.array(int(value) % 2**64, np.uint64).astype(
                made.dtype
            )
        return made
    if kind < 0.7:
        return made[: random.randrange(made.size + 1)]
    if kind < 0.8:
        return np.append(made, made[-1:] if made.size else np.zeros(1, made.dtype)).astype(
            made.dtype
        )
    if kind < 0.9:
        return shaped(random, made)
    with np.errstate(all="ignore"):
        return made.astype(
            random.choice(("i1", "u1", "i4", ">i4", "i8", ">i8", "u8", "f8", "O", "?", "U3"))
        )
