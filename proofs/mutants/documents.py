"""Mutants of readers, of their budget, and of what goes to a terminal."""

from mutants.mutant import Mutant

_BUDGET = "tests/documents/test_budget.py -k"
_OUTPUT = "tests/cli/test_cli_output.py -k"
_JSON = "rmqalloc/documents/json_text.py"
_SOURCE = "rmqalloc/documents/source.py"
_SAVING = "rmqalloc/plans/_plan_files.py"
_PAGES = "rmqalloc/snapshot/files/_parquet_pages.py"
_SINK = "rmqalloc/cli/_sink.py"
_ERRORS = "rmqalloc/cli/_error_handler.py"

MUTANTS = [
    Mutant(_SOURCE, "part.decompress(rest, left)", "part.decompress(rest)", "a packed plan is unpacked whole", f"{_BUDGET} multiple_of_the_budget"),
    Mutant(_SOURCE, "while rest and left:", "if rest:", "only the first part of a packed file is read", f"{_BUDGET} plan_of_these_tests"),
    Mutant(_SOURCE, "except zlib.error as error:", "except EOFError as error:", "a damaged packed plan is a traceback", f"{_BUDGET} damaged_anywhere"),
    Mutant(_SOURCE, "if not part.eof and left:", "if False:", "a packed plan that is cut is read as far as it goes", f"{_BUDGET} what_is_wrong_with_a_plan"),
    Mutant("rmqalloc/plans/_stored_tables.py", "TypeError, OverflowError) as error", "TypeError) as error", "a number too large for its column is a traceback", f"{_BUDGET} columns_of_a_plan"),
    Mutant(_JSON, "if made > most_made():", "if not made and most_made():", "nested empties are made whatever memory they take", f"{_BUDGET} counted_before_they_are_made"),
    Mutant(_JSON, 'text.replace("\\\\\\\\", "##")', "text", "an escaped backslash before u is taken for half a pair", f"{_BUDGET} escaped_backslash"),
    Mutant(_JSON, "for _ in range(_MOST_TOKENS):", "while True:", "the place of a fault is looked for without end", f"{_BUDGET} not_looked_for_without_end"),
    Mutant(_JSON, r"(?:[eE][-+]?[0-9]+)?')", r"[0-9.eE+-]*')", "what follows a number that is none is a traceback", f"{_BUDGET} goes_on_wrongly"),
    Mutant("rmqalloc/text.py", "if len(given) > _LONGEST_COMPARED:", "if len(given) > 10**9:", "a long name is compared with all known ones", f"{_BUDGET} long_name"),
    Mutant(_PAGES, "yield Page(unpacked, any(", "yield Page(packed, any(", "pages count as they are packed", f"{_BUDGET} pages_of_parquet"),
    Mutant(_PAGES, "_DELTA_BYTE_ARRAY = 7", "_DELTA_BYTE_ARRAY = 70", "texts of a Parquet file grow without bound", f"{_BUDGET} grows_without_bound"),
    Mutant("rmqalloc/snapshot/files/csv_text.py", "if number >= most_rows():", "if number < 0:", "rows of CSV are not counted", f"{_BUDGET} rows_of_tables"),
    Mutant(_SINK, "sys.stderr = Guard(err)", "sys.stderr = err", "what a library writes to standard error is raw", f"{_OUTPUT} guards_every_stream"),
    Mutant(_SINK, "if out.isatty():", "if False:", "results for programs tell a terminal what to do", f"{_OUTPUT} results_for_programs_either"),
    Mutant(_SINK, "encodable(_safe(text + end, file), file)", "encodable(text + end, file)", "a forgotten name is raw where no terminal is", f"{_OUTPUT} forgotten"),
    Mutant(_SINK, 'text = f"{what}: {message(said)}"', 'text = f"{what}: {said}"', "a remark forges a line", f"{_OUTPUT} whatever_things_are_called"),
    Mutant(_SINK, "3[1-7])m)", "[0-9;]+)m)", "any colour and mode passes", f"{_OUTPUT} lets_colours"),
    Mutant("rmqalloc/text.py", '.replace("\\n", "\\\\n")', "", "a message breaks its line", f"{_OUTPUT} one_line"),
    Mutant(_ERRORS, "except (OSError, Error, MemoryError) as error:", "except (OSError, Error, ValueError) as error:", "a defect passes for an error of a file", f"{_OUTPUT} passes_for_one"),
    Mutant(_ERRORS, "return exit_codes.DEFECT", "return exit_codes.FAILURE", "a defect ends as a failure", f"{_OUTPUT} defect_that_says_so"),
    Mutant(_ERRORS, "if context is None:\n        tell(\"Error\", error.format_message())", "if context is None:\n        say(f\"Error: {error.format_message()}\", err=True)", "an argument forges a line", f"{_OUTPUT} stays_within_its_line"),
    Mutant("rmqalloc/snapshot/files/csv_text.py", "if safe and isinstance", "if not safe and isinstance", "--safe quotes nothing", "tests/cli/test_cli_convert.py -k formula"),
    Mutant("rmqalloc/text.py", 'text[:1] in ("\\t", "\\r") or ', "", "a cell that begins with a tab is no formula", "tests/cli/test_cli_convert.py -k formula"),
    Mutant("rmqalloc/cli/_convert_command.py", 'if written == "csv":', 'if written == "yaml":', "formulas are not told", "tests/cli/test_cli_convert.py -k formula"),
]  # fmt: skip
