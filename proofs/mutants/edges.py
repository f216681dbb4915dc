"""Mutants of limits on what is read from outside, and of exit codes where something could not be computed."""

from mutants.mutant import Mutant

_LIMITS = "tests/documents/test_limits.py -k"
_ROOMS = "tests/scenarios/test_joining_rooms.py -k"
_WRITTEN = "tests/documents/test_written_limits.py -k"
_JSON = "rmqalloc/documents/json_text.py"
_YAML = "rmqalloc/documents/yaml_text.py"

MUTANTS = [
    Mutant(_JSON, "for _ in range(MAX_DEPTH):", "for _ in range(MAX_DEPTH + 1):", "JSON is nested one level deeper", f"{_LIMITS} nested_so_deep"),
    Mutant(_JSON, "if made > most_made():", "if made >= most_made():", "JSON that fills the memory is refused", f"{_LIMITS} so_much_memory"),
    Mutant(_YAML, "if n_values > MAX_NODES:", "if n_values >= MAX_NODES:", "values that aliases stand for are one too many", f"{_LIMITS} alias"),
    Mutant(_YAML, "if depth + n_levels > MAX_DEPTH:", "if depth + n_levels >= MAX_DEPTH:", "levels that aliases stand for are one too many", f"{_LIMITS} alias"),
    Mutant("rmqalloc/documents/source.py", "if packed and len(data) <= most:", "if packed and len(data) < most:", "a packed file as large as a file may be is not unpacked", f"{_LIMITS} as_large_as_a_plain"),
    Mutant("rmqalloc/documents/source.py", "if len(source.data) > most:", "if len(source.data) >= most:", "the largest file is refused", f"{_LIMITS} so_many_bytes"),
    Mutant("rmqalloc/snapshot/files/csv_text.py", "if first.count(delimiter) >= _MOST_CELLS:", "if first.count(delimiter) > _MOST_CELLS:", "a row has one column more", f"{_LIMITS} so_many_columns"),
    Mutant("rmqalloc/remoting/body_fields.py", "if len(value) > most:", "if len(value) >= most:", "the longest name is refused", f"{_LIMITS} wire"),
    Mutant("rmqalloc/remoting/frames.py", "if length > MAX_HEADER:", "if length >= MAX_HEADER:", "the longest header is refused", f"{_LIMITS} wire"),
    Mutant("rmqalloc/remoting/loose_json.py", "if depth == MAX_DEPTH:", "if depth > MAX_DEPTH:", "the tolerant parser goes one level deeper", f"{_LIMITS} body_of_a_server"),
    Mutant("rmqalloc/remoting/address.py", "0 < int(port) < _PORTS", "0 < int(port) <= _PORTS", "there is a port 65536", f"{_LIMITS} hosts"),
    Mutant("rmqalloc/store/_writing.py", "for _ in range(_MOST_LINKS):", "for _ in range(_MOST_LINKS - 1):", "a chain of 39 links leads nowhere", f"{_LIMITS} links"),
    Mutant("rmqalloc/fleet/unit_sizes.py", "if n > MAX_PER_UNIT:", "if n >= MAX_PER_UNIT:", "the largest unit is refused", f"{_LIMITS} so_many_queues"),
    Mutant("rmqalloc/limits.py", "if n > MAX_QUEUES:", "if n >= MAX_QUEUES:", "the largest topic is not checked", f"{_LIMITS} so_many_queues"),
    Mutant("rmqalloc/documents/fields.py", "<= milliseconds <= self.most:", "<= milliseconds < self.most:", "a script may not take a day", f"{_LIMITS} times_and_members"),
    Mutant("rmqalloc/cli/_allocate_command.py", "<= MAX_QUEUES:", "< MAX_QUEUES:", "as many queues as can be shown are refused", f"{_LIMITS} queues_are_shown"),
    Mutant("rmqalloc/cli/_explain_command.py", "len(number) < 10):", "len(number) <= 10):", "a queue of ten digits is looked for", f"{_LIMITS} nine_digits"),
    Mutant("rmqalloc/cli/_compare_command.py", " or (exit_codes.FAILURE if found.refused else 0)", "", "a comparison that lacks a row ends with 0", f"{_ROOMS} lacks_a_row"),
    Mutant("rmqalloc/plans/comparison.py", "[ErrCode.GOOD, ErrCode.EMPTY]", "[ErrCode.GOOD]", "a group without clients makes a comparison fail", f"{_ROOMS} no_fault_of_a_candidate"),
    Mutant("rmqalloc/plans/unmatched.py", 'pc.equal(columns["err_code"], int(ErrCode.GOOD))', 'pc.not_equal(columns["err_code"], int(ErrCode.REFUSED))', "a ring that grows too large says nothing", f"{_ROOMS} grows_too_large"),
    Mutant("rmqalloc/fleet/arrow.py", "if offsets[-1] < _OF_INT64:", "if offsets[-1] <= _OF_INT64:", "2**31 owners have offsets of int32", f"{_LIMITS} as_wide"),
    Mutant("rmqalloc/fleet/arrow.py", "if column.offsets[-1] < _OF_INT64 else", "if column.offsets[-1] <= _OF_INT64 else", "2**31 bytes of text have offsets of int32", f"{_LIMITS} as_wide"),
    Mutant("rmqalloc/fleet/arrow_columns.py", "(given < least)", "(given <= least)", "beside a null the least number is wrong", f"{_LIMITS} integers_of_arrow"),
    Mutant("rmqalloc/fleet/arrow_columns.py", "(given > most)", "(given >= most)", "beside a null the greatest number is wrong", f"{_LIMITS} integers_of_arrow"),
    Mutant("rmqalloc/fleet/arrow_columns.py", "least <= given.min(initial=0)", "least - 1 <= given.min(initial=0)", "a number below the least is taken", f"{_LIMITS} integers_of_arrow"),
    Mutant(_YAML, "* MAX_NODES + _EVENTS_AROUND:", "* MAX_NODES + 1:", "as many values as are written are not read", f"{_LIMITS} a_beginning_and_an_end"),
    Mutant(_YAML, "if loader.n_merged > MAX_NODES:", "if loader.n_merged >= MAX_NODES:", "merges bring one value less", f"{_LIMITS} merges_may_bring"),
    Mutant(_JSON, "0 < sys.get_int_max_str_digits() < n_digits", "0 < sys.get_int_max_str_digits() <= n_digits", "a number with as many digits as are read is named as wrong", f"{_LIMITS} digits"),
    Mutant(_JSON, "0 < sys.get_int_max_str_digits() < n_digits", "0 <= sys.get_int_max_str_digits() < n_digits", "without a bound on digits every number is named as wrong", f"{_LIMITS} digits"),
    Mutant("rmqalloc/evidence/fit.py", "* _ONE_IN < ways", "* _ONE_IN <= ways", "1 in 100 is less than 1 in 100", f"{_LIMITS} by_chance"),
    Mutant("rmqalloc/documents/fields.py", "and 0 < int(text[:9]) <= MAX", "and 0 <= int(text[:9]) <= MAX", "no time at all lacks its unit", f"{_LIMITS} unit_is_suggested"),
    Mutant("rmqalloc/documents/fields.py", "int(text[:9]) <= MAX_DURATION", "int(text[:9]) < MAX_DURATION", "a day in ms lacks no unit", f"{_LIMITS} unit_is_suggested"),
    Mutant("rmqalloc/documents/fields.py", "and len(text) < 9)", "and len(text) <= 9)", "a number of nine digits lacks its unit", f"{_LIMITS} unit_is_suggested"),
    Mutant("rmqalloc/snapshot/files/csv_text.py", "csv.field_size_limit(max(csv.field_size_limit(), read_budget.MAX_BYTES))", "pass", "a long list of CONFIG is written and not read", f"{_WRITTEN} standard_library"),
    Mutant("rmqalloc/snapshot/files/_write_files.py", "if len(content) > read_budget.MAX_BYTES:", "if False:", "a file that is too large to be read is written", f"{_WRITTEN} what_is_written_is_read"),
    Mutant("rmqalloc/snapshot/files/_document_text.py", "        json_text.check_depth(document)\n", "", "JSON is written deeper than it is read", f"{_WRITTEN} what_is_written_is_read"),
    Mutant("rmqalloc/snapshot/files/_document_text.py", "        json_text.check_made(made_of_json(text))\n", "", "JSON is written with more values than are read", f"{_WRITTEN} what_is_written_is_read"),
    Mutant("rmqalloc/snapshot/files/_to_rows.py", "if number >= most_rows():", "if number > most_rows():", "a row more is written than is read", f"{_WRITTEN} what_is_written_is_read"),
    Mutant("rmqalloc/snapshot/files/_parquet.py", "    _check_size(data := out.getvalue(), len(rows))\n    return data", "    return out.getvalue()", "pages are written larger than they are read", f"{_WRITTEN} what_is_written_is_read"),
    Mutant("rmqalloc/plans/plan_writing.py", "if n_bytes > read_budget.MAX_BYTES:", "if n_bytes > read_budget.MAX_BYTES + 1:", "a plan is written that is too large to be read", f"{_WRITTEN} plan"),
    Mutant("rmqalloc/plans/plan_writing.py", "        json_text.check_made(made)\n", "        pass\n", "a plan is written with more values than are read", f"{_WRITTEN} plan"),
    Mutant("rmqalloc/strategies/consistent_hash.py", "        if fleet.is_sparse:", "        if False:", "few units have the lists of all hashed", "tests/fleet/test_cliffs.py -k few_units_hash"),
    Mutant("rmqalloc/strategies/_room_parts.py", "fleet.own_lists() if fleet.is_sparse else fleet", "fleet", "few units have the lists of all cut by room", "tests/fleet/test_cliffs.py -k few_units_near"),
    Mutant("rmqalloc/plans/_plan_snapshot.py", "tuple(dict.fromkeys((*read.warnings, *missing, *refused_after(tables.units))))", "(*read.warnings, *missing, *refused_after(tables.units))", "two scenarios that lack a machine room say it twice", f"{_ROOMS} said_once"),
    Mutant("rmqalloc/plans/unmatched.py", 'said + advice, ""', "said + advice, advice", "what a machine room needs is said twice", f"{_ROOMS} said_once"),
]  # fmt: skip
