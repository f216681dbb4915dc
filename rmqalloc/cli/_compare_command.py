"""``rmqalloc compare``: several strategies side by side on one change."""

from __future__ import annotations

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._change_options import scenario_option
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import left_out_code
from rmqalloc.cli._options import option
from rmqalloc.cli._planning import rooms_unknown
from rmqalloc.cli._sink import print_notes
from rmqalloc.cli._snapshot_input import snapshot_of, snapshot_options, strategy_known_option
from rmqalloc.cli._strategy_options import NamedStrategy, StrategyTexts
from rmqalloc.cli._table_options import TableOptions, table_options

_DEFAULT = "AVG,AVG_BY_CIRCLE,CONSISTENT_HASH:10,CONSISTENT_HASH:160"


@click.command(cls=Verb)
@snapshot_options
@strategy_known_option
@option(
    "to-strategy",
    "strategies",
    more="; separate several with commas",
    type=StrategyTexts(),
    default=_DEFAULT,
    show_default=True,
)
@scenario_option
@table_options(". Default as text: 20 groups")
def compare(
    inputs: Inputs,
    strategies: list[NamedStrategy],
    scenario: str | None,
    tables: TableOptions,
) -> int:
    """Compare strategies by moved queues, balance afterwards, and moves if one client leaves.

    \b
    rmqalloc compare -f cluster.yaml -g order-svc
    rmqalloc compare -f cluster.yaml --scenario more-pods.yaml --to-strategy AVG,CONSISTENT_HASH:160
    """
    import rmqalloc
    from rmqalloc.evidence import Verb
    from rmqalloc.plans.comparison import Candidate
    from rmqalloc.scenarios import SetStrategy, read_scenarios
    from rmqalloc.scenarios.scenario import clients_join
    from rmqalloc.snapshot.matching import none_planned

    candidates = [Candidate(*given) for given in strategies]
    scenarios = () if scenario is None else read_scenarios(scenario)
    if len(scenarios) > 1 or any((one.groups, one.topics) != (("*",), ("*",)) for one in scenarios):
        raise click.UsageError(
            "compare takes one scenario for all groups and topics; select groups and topics "
            "with -g and -t"
        )
    made = [change for one in scenarios for change in one.changes]
    if any(isinstance(change, SetStrategy) for change in made):
        raise click.UsageError(
            "compare sets the strategy: use --to-strategy and remove set_strategy from the scenario"
        )
    known = snapshot_of(inputs)
    with rooms_unknown():
        found = rmqalloc.compare(known, candidates, made, inputs.groups, inputs.topics)
    if found.table["n_queues"].null_count == found.table.num_rows:
        raise none_planned(found.warnings)
    print_notes(found.warnings)
    tables.show(found)
    code = left_out_code(known, inputs, Verb.COMPARE, clients_join(scenarios))
    return code or (exit_codes.FAILURE if found.refused else 0)
