"""What SECURITY.md promises of the code as a whole, and that the tests which it cites are there."""

import ast
import re

import pytest
from checkout import ROOT
from cli_commands import COMMANDS
from source_modules import MODULES, imports_of

from rmqalloc.documents import read_budget, yaml_text
from rmqalloc.remoting import frames, loose_json

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
RUNS_DATA = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "execfile",
    "unsafe_load",
    "full_load",
    "system",
    "popen",
}
NOT_IMPORTED = {
    "pickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "code",
    "codeop",
    "pty",
    "runpy",
}
STARTS = {"spark_udfs._java_rule": "asks the Java that was found for its version"}
FOREIGN = {"rmqalloc.store._disk": "renameat2, which the standard library does not have"}
SECRET = re.compile(r"key|secret|password|token|credential|acl")


HARMLESS = {("re", "compile"), ("platform", "system")}


def names(tree):
    """Functions that are called, but for harmless ones of the same names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                yield called.id
            elif (
                isinstance(called, ast.Attribute)
                and (getattr(called.value, "id", ""), called.attr) not in HARMLESS
            ):
                yield called.attr


def imported(source):
    """First parts of the names that are imported."""
    return {name.partition(".")[0] for name in imports_of("a.module", source, False)}


def faults(source):
    """Ways of a module to run what is only data."""
    return (RUNS_DATA & set(names(ast.parse(source)))) | (NOT_IMPORTED & imported(source))


def test_no_module_runs_data():
    assert {
        name: found for name, path in MODULES.items() if (found := faults(path.read_text("utf-8")))
    } == {}


def test_few_modules_start_programs_or_call_foreign_code_and_none_a_shell():
    sources = {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}
    found = {name: imported(source) for name, source in sources.items()}
    assert {name for name, them in found.items() if "subprocess" in them} == STARTS.keys()
    assert {name for name, them in found.items() if {"ctypes", "cffi"} & them} == FOREIGN.keys()
    assert not any("shell=True" in source for source in sources.values())


@pytest.mark.parametrize("source", [
    "eval('1')", "import pickle", "from marshal import loads", "os.system('x')", "yaml.unsafe_load(x)", "compile(a, b, 'exec')",
])  # fmt: skip
def test_the_rule_sees_what_runs_data(source):
    assert faults(source)


def test_the_rule_lets_patterns_pass():
    assert not faults("re.compile('a'); import yaml; yaml.load(x, Loader=safe)")


def test_options_about_secrets_take_files():
    """What stands on a command line is seen by everybody on the machine."""
    asked = {
        (words, one.opts[0]): "file" if one.metavar == "FILE" else one.type.name
        for words, command in COMMANDS.items()
        for one in command.params
        if SECRET.search(one.opts[0]) and not getattr(one, "is_flag", False)
    }
    assert {name for _, name in asked} >= {"--acl-file", "--tls-key"}
    others = {name for (_, name), kind in asked.items() if kind not in ("file", "path")}
    assert others == {"--acl-address"}, "addresses of servers, which are no secret"


def test_figures_of_the_page_are_those_of_the_code():
    assert f"{read_budget.MAX_BYTES >> 20} MiB as unpacked, {read_budget.MAX_DEPTH} levels" in PAGE
    assert yaml_text.MAX_NODES == 1_000_000 and "a million values of YAML" in PAGE
    assert (
        f"has {frames.MAX_FRAME >> 20} MiB at most, its header {frames.MAX_HEADER >> 20} MiB"
        in PAGE
    )
    assert f"body {loose_json.MAX_MARKS:,} marks" in " ".join(PAGE.split())
    assert (
        read_budget.most_made() == 12 * read_budget.MAX_BYTES
        and "about twelve times the bytes" in PAGE
    )


HELD = {
    "tests/documents/test_documents.py": ["test_what_no_kind_takes", "test_no_message_shows_a_secret"],
    "tests/documents/test_budget.py": ["test_memory_of_a_hostile_file_is_a_bounded_multiple_of_the_budget"],
    "tests/documents/test_limits.py": ["test_a_file_may_have_so_many_bytes"],
    "tests/report/test_report.py": ["test_hostile_names_make_no_element_no_handler_and_no_link", "test_a_page_loads_nothing"],
    "tests/report/test_report_browser.py": ["test_the_policy_holds_where_escaping_would_fail"],
    "tests/cli/test_cli_output.py": ["test_whatever_things_are_called_people_see_only_text_in_lines_of_ours"],
    "tests/cli/test_cli_words.py": ["test_hostile_names_are_escaped_in_suggestions"],
    "tests/cli/test_cli_convert.py": ["test_a_formula_is_what_any_spreadsheet_takes_for_one"],
    "tests/remoting/test_live_json.py": ["test_a_hostile_body_is_refused_in_linear_time"],
    "tests/remoting/test_live_frames.py": [
        "test_garbage_is_a_frame_or_an_error", "test_secrets_are_not_shown", "test_tls_verifies_unless_told_otherwise",
    ],
    "tests/remoting/test_live_connection.py": ["test_nothing_but_reads_leaves"],
    "tests/snapshot/test_live_bad_day.py": ["test_a_deadline_bounds_everything_and_keeps_what_was_read"],
    "tests/snapshot/test_live_wire.py": ["test_nothing_but_reads_leaves_the_process"],
    "tests/snapshot/test_live_keys.py": ["test_a_broker_that_only_the_name_server_named_gets_nothing"],
    "tests/service/test_access.py": [
        "test_beyond_loopback_a_token_is_needed", "test_on_loopback_the_host_must_be_this_machine",
    ],
    "tests/service/test_serving.py": [
        "test_requests_of_readers_send_nothing_to_the_cluster_and_it_ends_when_told",
        "test_slow_requests_are_cut_off_while_others_are_answered",
    ],
    "tests/service/test_page_files.py": [],
    "tests/store/test_store.py": ["test_names_cannot_be_guessed_and_links_laid_there_are_not_followed"],
    "tests/store/test_store_directories.py": ["test_a_directory_is_never_away_while_it_is_replaced"],
    "tests/plans/test_verification.py": ["test_what_is_changed_anywhere_is_found"],
    "tests/engine/test_sanitizers.py": [],
    "tests/fleet/test_positions.py": ["test_units_are_selected_as_numpy_takes_them"],
    "tests/fleet/test_columns_by_hand.py": ["test_fleets_of_columns_that_do_not_fit_are_refused"],
    "tests/evaluation/test_damaged_batches.py": ["test_batches_whose_offsets_lead_out_of_their_buffers_are_refused"],
    "tests/house/test_security.py": ["test_no_module_runs_data", "test_options_about_secrets_take_files"],
}  # fmt: skip
"""The tests that hold the promises of the page, by the files that it cites."""


def test_the_page_cites_the_tests_that_hold_its_promises():
    assert set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE)) == HELD.keys()
    for file, wanted in HELD.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert [one for one in wanted if f"def {one}(" not in text] == [], file
