"""Colours of the page, in light and dark. Text reaches a contrast of 4.5 and shapes one of 3 (WCAG
2, level AA).
"""

_THEMES = {
    "page": ("#f4f5f7", "#0f1319"),
    "card": ("#ffffff", "#171c24"),
    "band": ("#eef1f5", "#202733"),
    "line": ("#d5dae2", "#364150"),
    "text": ("#1b2330", "#e5eaf1"),
    "soft": ("#545e6f", "#a0adbe"),
    "link": ("#1a5ab8", "#84b4ff"),
    "good": ("#18703d", "#5fcf8f"),
    "warn": ("#825300", "#e6b84a"),
    "bad": ("#b3261e", "#ff8f85"),
}
LIGHT, DARK = ({name: pair[theme] for name, pair in _THEMES.items()} for theme in (0, 1))

SERIES_LIGHT = (
    "#2f6fb7",
    "#c2591a",
    "#2a8457",
    "#8a55b5",
    "#977000",
    "#c03f69",
    "#2e8794",
    "#7d5b43",
)
SERIES_DARK = (
    "#6ea8ea",
    "#ef9857",
    "#5fc48f",
    "#bd94e6",
    "#dab84c",
    "#ee82a3",
    "#62c0cc",
    "#c5a58a",
)
REST_LIGHT, REST_DARK = "#7d8796", "#8a97a8"
"""What stands for "others": no colour of the series."""

HEAT_LIGHT, HEAT_DARK = zip(
    (("#ffffff", "#545e6f"), ("#171c24", "#a0adbe")),
    (("#8fb8e6", "#0f2440"), ("#2b5c93", "#ffffff")),
    (("#cfe1f5", "#0f2440"), ("#1f3a58", "#dce9f8")),
    (("#eceff3", "#1b2330"), ("#2a323d", "#e5eaf1")),
    (("#fbd9bd", "#4a1d00"), ("#5a3417", "#ffe3cc")),
    (("#f2a267", "#3a1600"), ("#96490e", "#ffffff")),
    (("#b8430f", "#ffffff"), ("#f08a45", "#1f0d00")),
    strict=True,
)
"""Ground and text of a cell, by `heat_step`."""

HEAT_UP_TO = (0.0, 0.5, 0.9, 1.1, 1.5, 2.0)
HEAT_WORDS = ("none", "up to ½", "up to 0.9", "about the mean", "up to 1½", "up to 2", "over 2")


def heat_step(share: float) -> int:
    """Return which colour a load over the mean load has.

    Examples
    --------
    >>> [heat_step(share) for share in (0, 0.4, 1, 1.5, 3)]
    [0, 1, 3, 4, 6]
    """
    return sum(share > most for most in HEAT_UP_TO)


def variables(is_dark: bool) -> str:
    """Return the colours as CSS variables.

    Examples
    --------
    >>> variables(is_dark=False)[:28]
    '--page:#f4f5f7;--card:#fffff'
    """
    named, series, rest, heat = (
        (DARK, SERIES_DARK, REST_DARK, HEAT_DARK)
        if is_dark
        else (LIGHT, SERIES_LIGHT, REST_LIGHT, HEAT_LIGHT)
    )
    pairs = [
        *named.items(),
        *((f"s{i}", colour) for i, colour in enumerate(series)),
        ("rest", rest),
    ]
    for i, (ground, text) in enumerate(heat):
        pairs += [(f"h{i}", ground), (f"t{i}", text)]
    return "".join(f"--{name}:{colour};" for name, colour in pairs)
