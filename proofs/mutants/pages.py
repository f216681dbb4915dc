"""Mutants of pages and pictures: words of the report, advice of the audit, lines of results, names with blanks."""

from mutants.mutant import Mutant

_TOTALS = "rmqalloc/plans/plan_totals.py"
_WORST = "rmqalloc/plans/worst_first.py"
_SUMMARY = "rmqalloc/report/html/_summary.py"
_FLOWS = "rmqalloc/report/html/charts/_flows.py"
_TIMELINE = "rmqalloc/report/html/charts/_transition.py"
_STYLE = "rmqalloc/report/html/_style.py"
_EVIDENCE = "rmqalloc/report/html/_evidence_section.py"
_UNREAD = "rmqalloc/report/html/_unread_section.py"
_SKEW = "rmqalloc/results/renderer.py"
_SCREENS = "tests/report/test_report_screens.py"
_DRAWN_STEPS = "tests/report/test_report_transition.py"
_SKEWS = "tests/report/test_skew.py"
_PLACES = "rmqalloc/snapshot/files/group_lines.py"
_CHECK = "rmqalloc/cli/_check_command.py"
_IDLE = "rmqalloc/audit/_rules_idle.py"
_MIXED = "rmqalloc/audit/_rules_mixed.py"
_OUTPUTS = "rmqalloc/snapshot/files/mqadmin/_outputs.py"
_SVG = "rmqalloc/simulation/_timeline_svg.py"
_PICTURE = "rmqalloc/simulation/_result_text.py"
_PALETTE = "rmqalloc/simulation/_timeline_svg.py"
_WORDS = "tests/report/test_report_words.py"
_DRAWN = "tests/simulation/test_simulation_svg.py"

MUTANTS = [
    Mutant(
        _IDLE,
        " and audited.names_all(view.client_ids)",
        "",
        "a client that no broker lists is promised a queue",
        "tests/audit/test_audit_idle.py -k no_broker_lists",
    ),
    Mutant(
        "rmqalloc/strategies/_room_parts.py",
        "np.append(by_client.list_ * stride + by_client.room, n_lists * stride)",
        "by_client.list_ * stride + by_client.room",
        "where nobody is left, comparing ends in a traceback",
        "tests/plans/test_compare.py -k nobody",
    ),
    Mutant(
        _TOTALS,
        'pc.greater(after["moved"], 0)',
        'pc.greater(after["clients_affected"], 0)',
        "a group counts as moving where its clients change without a move",
        f"{_WORDS} -k captions",
    ),
    Mutant(
        _TOTALS,
        'pc.greater(after["moved"], 0)',
        'pc.greater(after["moved"], 1)',
        "one queue that moves is none",
        f"{_WORDS} -k one_queue",
    ),
    Mutant(
        _WORST,
        "(is_ > was + ROUNDING) & ~cured",
        "is_ != was",
        "what improves hides what gets worse",
        "tests/plans/test_worst_first.py -k tuples",
    ),
    Mutant(
        "rmqalloc/plans/plan_text.py",
        "top or max(_SHOWN, worst.n_worse)",
        "top or _SHOWN",
        "groups that get worse are in no row",
        "tests/plans/test_worst_first.py -k is_listed",
    ),
    Mutant(
        _FLOWS,
        '{"new": "new", "gone": "removed", ',
        '{"new": "new", ',
        "queues that are removed are not spoken of",
        f"{_WORDS} -k captions",
    ),
    Mutant(
        _SUMMARY,
        "if (one.figures[what] or 0) > (before[what] or 0)",
        "if (one.figures[what] or 0) >= (before[what] or 0)",
        "what stays as it was is said to get worse",
        f"{_WORDS} -k gets_worse",
    ),
    Mutant(
        _TIMELINE,
        "steps[i].exposures[kind].worst, -i)",
        "steps[i].exposures[kind].worst, i)",
        "the last of several worst moments is marked",
        f"{_DRAWN_STEPS} -k first_worst",
    ),
    Mutant(
        _TIMELINE,
        "bound(number(self.worst), self.is_exact)",
        "bound(number(self.worst), not self.is_exact)",
        "an upper bound is shown as attained",
        f"{_DRAWN_STEPS} -k upper_bound",
    ),
    Mutant(
        _TIMELINE,
        "    worst = [steps[_peak(steps, kind)].exposures",
        "    worst = [steps[0].exposures",
        "of the steps that share a bar the first is drawn, not the worst",
        f"{_DRAWN_STEPS} -k share_a_bar",
    ),
    Mutant(
        _STYLE,
        "@media screen and (max-width:40rem){",
        "@media screen and (max-width:4rem){",
        "a phone has tables that scroll sideways",
        f"{_SCREENS} -k wider_than_a_phone",
    ),
    Mutant(
        _STYLE,
        "td::before{content:attr(data-l);",
        "td::before{content:none;",
        "figures on a phone have no names",
        f"{_SCREENS} -k figures_that_matter",
    ),
    Mutant(
        _STYLE,
        "svg .worst,svg .cell{fill:Canvas;",
        "svg .cell{fill:Canvas;",
        "bars keep colours that the reader has replaced",
        f"{_SCREENS} -k forced",
    ),
    Mutant(
        "rmqalloc/report/html/_findings_section.py",
        "MOST_SHOWN, MOST_FINDINGS = 3, 200",
        "MOST_SHOWN, MOST_FINDINGS = 12, 200",
        "findings push the figures off the screen",
        f"{_SCREENS} -k without_scrolling",
    ),
    Mutant(
        _EVIDENCE,
        "share is not None and share < 1",
        "share is not None and share <= 1",
        "what is wholly explained is in doubt",
        "tests/report/test_report_evidence.py -k sign",
    ),
    Mutant(
        _UNREAD,
        "for one in reach.unread[:MOST_ROWS]",
        "for one in reach.unread[::-1][:MOST_ROWS]",
        "the greatest backlog is folded away",
        "tests/report/test_report_unread.py -k backlog",
    ),
    Mutant(_SKEW, "{skew:,.2f}", "{skew:,.3f}", "a skew has three digits", f"{_SKEWS} -k two_digits"),
    Mutant(_SKEW, "range(2, 17)", "range(2, 3)", "a skew over its bound reads like the bound", f"{_SKEWS} -k apart"),
    Mutant(
        _PLACES,
        "places.setdefault(name, (line, None))",
        "places[name] = (line, None)",
        "of a group's rows the last is pointed at",
        "tests/audit/test_sarif_command.py -k csv",
    ),
    Mutant(
        _PLACES,
        "line = reader.line_num + 1  # a cell",
        "line += 1  # a cell",
        "a cell of two lines shifts all that stands below",
        "tests/audit/test_sarif_command.py -k two_lines",
    ),
    Mutant(
        _CHECK,
        "group_places(self.inputs.source, self.inputs.form)",
        "group_places(self.inputs.file, self.inputs.form)",
        "the file is read again for its lines",
        "tests/audit/test_sarif_command.py -k once",
    ),
    Mutant(
        _CHECK,
        "group_places(self.inputs.source, self.inputs.form)",
        "group_places(self.inputs.source)",
        "lines are looked for in the form that the name tells",
        "tests/audit/test_sarif_command.py -k form",
    ),
    Mutant(
        _IDLE,
        'method.name} then gives every client one" if n > most else ""',
        'method.name} then gives every client one" if n < most else ""',
        "who has too few queues is not told how many are enough",
        "tests/audit/test_audit_idle.py",
    ),
    Mutant(
        _IDLE,
        'and take AVG" if n > most else',
        'and take AVG" if n < most else',
        "AVG alone is promised to give every client one of too few queues",
        "tests/audit/test_audit_idle.py",
    ),
    Mutant(
        _IDLE,
        "counted(most, 'queue')} {of_topic}.\"",
        "counted(n, 'queue')} {of_topic}.\"",
        "the number of queues that is told is that of the clients",
        "tests/audit/test_audit_idle.py -k figures",
    ),
    Mutant(
        _MIXED,
        'm if (c.language or "") == language else None for',
        "m for",
        "the fixed number of one SDK is compared with Java's",
        "tests/audit/test_audit_mixed.py -k language",
    ),
    Mutant(
        _OUTPUTS,
        'r"(?P<id>.*[^ ]) +[^ ]+:',
        'r"(?P<id>[^ ]+) +[^ ]+:',
        "an id with a blank is no row of consumerConnection",
        "tests/snapshot/test_mqadmin_blanks.py -k connection",
    ),
    Mutant(
        _OUTPUTS,
        "if bare.endswith(client_id):",
        "if True:",
        "where an id ends is not told by what stands behind it again",
        "tests/snapshot/test_mqadmin_blanks.py -k status",
    ),
    Mutant(
        _SVG,
        'if len(self.places) < n else ""\n        name = _text',
        'if len(self.places) <= n else ""\n        name = _text',
        "all queues are said to be some of them",
        _DRAWN,
    ),
    Mutant(
        _SVG,
        "({len(self.places):,} of {counted(n, 'queue')})",
        "({n:,} of {counted(n, 'queue')})",
        "the picture does not say how few of the queues it shows",
        _DRAWN,
    ),
    Mutant(
        _SVG,
        "return self.owning[:MOST_STYLES]",
        "return self.owning[: MOST_STYLES + 1]",
        "the legend names a client that looks like all others",
        _DRAWN,
    ),
    Mutant(
        _SVG,
        "max((len(block.owning) for block in blocks), default=0)",
        "min((len(block.owning) for block in blocks), default=0)",
        "patterns of the larger group are missing",
        _DRAWN,
    ),
    Mutant(
        _PICTURE,
        "[i * n_queues // rows for i in range(rows)]",
        "list(range(rows))",
        "only the first queues are shown, not some at even distances",
        "tests/simulation/test_simulation_svg.py tests/simulation/test_simulation_result.py",
    ),
    Mutant(
        _PICTURE,
        "list(range(n_queues)) if n_queues <= rows else",
        "list(range(n_queues)) if n_queues >= rows else",
        "nothing bounds the rows of a picture",
        _DRAWN,
    ),
    Mutant(
        _PALETTE,
        '"#56b4e9", "#f28e2b"',
        '"#56b4e9", "#8cc63f"',
        "two greens that some readers cannot tell apart",
        f"{_DRAWN} -k colours",
    ),
    Mutant(
        _PALETTE,
        "_PATTERNS[number // len(COLOURS)]",
        "_PATTERNS[1]",
        "clients of one colour share a pattern",
        f"{_DRAWN} -k look_of",
    ),
    Mutant(
        _PALETTE,
        "if number < MOST_STYLES else OTHERS",
        "if number <= MOST_STYLES else OTHERS",
        "a bar is filled with a pattern that is not there",
        f"{_DRAWN}",
    ),
]
