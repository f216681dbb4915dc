"""Mutants of limits on what is read from outside, and of exit codes where something could not be computed."""

from mutants.mutant import Mutant

_LIMITS = "tests/test_limits.py -k"
_ROOMS = "tests/test_joining_rooms.py -k"
_JSON = "rmqalloc/documents/json_text.py"
_YAML = "rmqalloc/documents/yaml_text.py"

MUTANTS = [
    Mutant(_JSON, "for _ in range(MAX_DEPTH):", "for _ in range(MAX_DEPTH + 1):", "JSON is nested one level deeper", f"{_LIMITS} nested_so_deep"),
    Mutant(_JSON, "if made_of_json(text) > most_made():", "if made_of_json(text) >= most_made():", "JSON that fills the memory is refused", f"{_LIMITS} so_much_memory"),
    Mutant(_YAML, "if n_values > MAX_NODES:", "if n_values >= MAX_NODES:", "values that aliases stand for are one too many", f"{_LIMITS} alias"),
    Mutant(_YAML, "if depth + n_levels > MAX_DEPTH:", "if depth + n_levels >= MAX_DEPTH:", "levels that aliases stand for are one too many", f"{_LIMITS} alias"),
    Mutant("rmqalloc/documents/source.py", "if packed and len(data) <= most:", "if packed and len(data) < most:", "a packed file as large as a file may be is not unpacked", f"{_LIMITS} as_large_as_a_plain"),
    Mutant("rmqalloc/documents/source.py", "if len(source.data) > most:", "if len(source.data) >= most:", "the largest file is refused", f"{_LIMITS} so_many_bytes"),
    Mutant("rmqalloc/snapshot/files/csv_text.py", "if first.count(delimiter) >= _MOST_CELLS:", "if first.count(delimiter) > _MOST_CELLS:", "a row has one column more", f"{_LIMITS} so_many_columns"),
    Mutant("rmqalloc/snapshot/live/answers.py", "if len(value) > MAX_NAME:", "if len(value) >= MAX_NAME:", "the longest name is refused", f"{_LIMITS} wire"),
    Mutant("rmqalloc/snapshot/live/frame.py", "if length > MAX_HEADER:", "if length >= MAX_HEADER:", "the longest header is refused", f"{_LIMITS} wire"),
    Mutant("rmqalloc/snapshot/live/loose_json.py", "if depth == MAX_DEPTH:", "if depth > MAX_DEPTH:", "the tolerant parser goes one level deeper", f"{_LIMITS} body_of_a_server"),
    Mutant("rmqalloc/snapshot/live/address.py", "0 < int(port) < _PORTS", "0 < int(port) <= _PORTS", "there is a port 65536", f"{_LIMITS} hosts"),
    Mutant("rmqalloc/store/writing.py", "for _ in range(_MOST_LINKS):", "for _ in range(_MOST_LINKS - 1):", "a chain of 39 links leads nowhere", f"{_LIMITS} links"),
    Mutant("rmqalloc/fleet/bounds.py", "if n > MAX_PER_UNIT:", "if n >= MAX_PER_UNIT:", "the largest unit is refused", f"{_LIMITS} so_many_queues"),
    Mutant("rmqalloc/whatif/audit/case.py", "if n > MAX_QUEUES:", "if n >= MAX_QUEUES:", "the largest topic is not checked", f"{_LIMITS} so_many_queues"),
    Mutant("rmqalloc/simulation/kinds.py", "<= milliseconds <= MAX_DURATION:", "<= milliseconds < MAX_DURATION:", "a script may not take a day", f"{_LIMITS} times_and_members"),
    Mutant("rmqalloc/cli/allocate.py", "<= _MOST_QUEUES:", "< _MOST_QUEUES:", "as many queues as can be shown are refused", f"{_LIMITS} queues_are_shown"),
    Mutant("rmqalloc/cli/explain.py", "len(number) < 10):", "len(number) <= 10):", "a queue of ten digits is looked for", f"{_LIMITS} nine_digits"),
    Mutant("rmqalloc/cli/compare.py", " or (exit_codes.FAILURE if refused else 0)", "", "a comparison that lacks a row ends with 0", f"{_ROOMS} lacks_a_row"),
    Mutant("rmqalloc/whatif/plans/comparison.py", "[ErrCode.GOOD, ErrCode.EMPTY]", "[ErrCode.GOOD]", "a group without clients makes a comparison fail", f"{_ROOMS} no_fault_of_a_candidate"),
    Mutant("rmqalloc/whatif/plans/missing.py", 'pc.not_equal(columns["err_code"], int(ErrCode.GOOD))', 'pc.equal(columns["err_code"], int(ErrCode.REFUSED))', "a ring that grows too large says nothing", f"{_ROOMS} grows_too_large"),
]  # fmt: skip
