"""Public faces that look as if they took arrays or positions and are not called, each with the reason."""

_RESULT = (
    "a result: its verb makes it; it holds Arrow tables, which Arrow's own methods read (damaged ones: followed_plans)"
)
_UNCHECKED = "trusts what it is given, and says so: for the product's own rooms, which count what they give"
_DATA = "`data` is no array: fields of a heartbeat, or a document, which fuzz damages"
_NAMED = "a queue or a client by name, not by number: looked up in a dictionary"

NOT_CALLED = {
    "rmqalloc.advice.advice.Advice.__init__": _RESULT,
    "rmqalloc.advice.advice.ConfigLists.__new__": "an answer of `config_document`: names, no numbers",
    "rmqalloc.broker._consumer_manager.ConsumerManager.register": _DATA,
    "rmqalloc.broker._consumer_manager.ConsumerManager.register_without_subscriptions": _DATA,
    "rmqalloc.broker._group_info.ConsumerGroupInfo.__init__": _DATA,
    "rmqalloc.broker._group_info.ConsumerGroupInfo.update_channel": _DATA,
    "rmqalloc.broker._offsets.ConsumerOffsetManager.commit_offsets": "offsets in a broker: numbers that are kept by queue",
    "rmqalloc.diffs._diff_result.Diff.__init__": _RESULT,
    "rmqalloc.documents.document.Document.__init__": _DATA,
    "rmqalloc.documents.document_errors.DocumentError.__init__": "`place` is the text of a line and column",
    "rmqalloc.documents.records.Checked.of": _DATA,
    "rmqalloc.documents.source.Source.__init__": _DATA,
    "rmqalloc.evidence.evidence.Evidence.__init__": _RESULT,
    "rmqalloc.fleet.columns.Strings.joined": _UNCHECKED,
    "rmqalloc.fleet.columns.Strings.of_bytes": _UNCHECKED,
    "rmqalloc.fleet.columns.Strings.order": _UNCHECKED,
    "rmqalloc.fleet.columns.Strings.ordered": _UNCHECKED,
    "rmqalloc.fleet.columns.Strings.sorted": _UNCHECKED,
    "rmqalloc.fleet.columns.Strings.take_lists": _UNCHECKED,
    "rmqalloc.fleet.columns.Strings.take_unchecked": _UNCHECKED,
    "rmqalloc.fleet.lists.ClientLists.of_slots": _UNCHECKED,
    "rmqalloc.fleet.lists.ClientLists.rearranged": _UNCHECKED,
    "rmqalloc.fleet.lists.QueueLists.of_routes": _UNCHECKED,
    "rmqalloc.fleet.lists.QueueLists.rearranged": _UNCHECKED,
    "rmqalloc.fleet.lists.QueueLists.sorted": _UNCHECKED,
    "rmqalloc.fleet.unit_errors.FleetError.__init__": "`n_units` is a number to print",
    "rmqalloc.fleet.unit_errors.FleetError.among": "`units` is the caller's list, read as Python reads it",
    "rmqalloc.fleet.unit_errors.UnitError.__new__": "`position` is a number to print",
    "rmqalloc.invariants._checked.SelfCheck.__new__": _RESULT,
    "rmqalloc.optimisation._optimisation.Optimisation.__init__": _RESULT,
    "rmqalloc.plans.comparison.Comparison.__init__": _RESULT,
    "rmqalloc.plans._explain.Explanation.__init__": "an answer of `explain`; `queue_place` is a number to print",
    "rmqalloc.plans._plan.Plan.__init__": _RESULT,
    "rmqalloc.rebalance._group_queues.GroupQueues.message_queue_changed": _NAMED,
    "rmqalloc.rebalance._pull_consumer.RebalancePull.message_queue_changed": _NAMED,
    "rmqalloc.rebalance._push_consumer.RebalancePush.message_queue_changed": _NAMED,
    "rmqalloc.remoting._releases.Profile.__init__": "switches of a release: true or false",
    "rmqalloc.report.sarif_log.sarif": "`places` are lines and columns by name of a group, put into the text as they are",
    "rmqalloc.report.sarif_log.write_findings": "`places` as `sarif`",
    "rmqalloc.rollouts._batch_budget.BudgetedBatches.__init__": _RESULT,
    "rmqalloc.rollouts.rollout_result.Rollout.__init__": _RESULT,
    "rmqalloc.scenarios.scenario_files.scenarios_of": "`rows` are mappings, which fuzz damages",
    "rmqalloc.scenarios.subfleet.Rules.same": "`n_units` is how much memory is asked for",
    "rmqalloc.simulation._result.Ownership.__new__": "an answer of `simulate`",
    "rmqalloc.strategies._pop.FleetShares.__new__": "an answer of `share_fleet`",
}
