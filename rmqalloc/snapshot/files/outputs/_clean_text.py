"""The text of a paste without what terminals, shells and web pages put into it; lines keep their
numbers.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and the cursor
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles of windows and links
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_BLANKS = dict.fromkeys(map(ord, "\u00a0\u2007\u202f"), " ")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u2060\ufeff"))
_TRANSLATED = _BLANKS | _INVISIBLE
_FOREIGN = re.compile("[\x1b\x9b\r\u00a0\u2007\u202f\u200b\u2060\ufeff]")

_PROMPT = re.compile(
    r"^(?:\([\w.-]{1,40}\) ?)?"  # a virtual environment
    r"(?:\[[\w.-]{1,40}@[\w.-]{1,80}[ :][^\]\n]{0,200}\] ?[#$%]"  # [root@host ~]#
    r"|[\w.-]{1,40}@[\w.-]{1,80}:[^\s#$]{0,200} ?[#$]"  # root@host:~#
    r"|(?:ba|k|z)?sh-[\d.]{1,10}[#$]"  # sh-5.1$
    r"|(?:PS )?[A-Z]:\\[^>\n]{0,200}>"
    r"|[$#>])"
    r"(?: |$)",
    re.MULTILINE,
)


def cleaned(text: str) -> str:
    r"""Return a text without escape codes, no-break and zero-width spaces, byte order marks,
    carriage returns and the prompts of shells.

    Examples
    --------
    >>> cleaned("\x1b[01;31morders\x1b[m\u00a0 *\r\n[root@mq ~]# mqadmin topicRoute -t orders")
    'orders  *\nmqadmin topicRoute -t orders'
    """
    if _FOREIGN.search(text):
        if "\n" not in text:
            text = text.replace("\r", "\n")
        text = _ESCAPES.sub("", text.replace("\r", "")).translate(_TRANSLATED)
    return _PROMPT.sub("", text)
