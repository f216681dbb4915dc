"""``rmqalloc guard`` at a real cluster: before a stop, after it, and while the next consumer joins."""

import pytest
from live_proofs import assigned, make_topic, settled

from rmqalloc import strategy
from rmqalloc.cli import main

pytestmark = [pytest.mark.cluster, pytest.mark.java]

GROUP, TOPIC = "stopping", "stopping-orders"


def test_a_consumer_stops_once_the_change_before_has_settled(cluster, java, tally, capsys):
    make_topic(cluster, java, TOPIC, 4)
    ids = {member: java.join(GROUP, member, [TOPIC], strategy="AVG") for member in ("g-1", "g-2")}
    settled(cluster, [java], GROUP, 2, assigned(strategy("AVG")), tally)

    def guard(member, *more):
        code = main(["guard", "-n", cluster.name_server, "-g", GROUP, "-c", ids[member], *more])
        return code, capsys.readouterr().out

    answer = guard("g-1", "--wait", "120s")
    owned = java.owns(GROUP)[
        ids["g-1"]
    ]  # one of the retry topic, too, once its brokers have made it
    assert [one.topic for one in owned].count(TOPIC) == 4
    assert answer == (
        0,
        f"yes: {ids['g-1']} may stop: {len(owned)} queues of {GROUP} get new owners\n",
    )
    assert guard("g-1", "--after", "--wait", "1s") == (
        3,
        f"no: {ids['g-1']} is a client of {GROUP} still\n",
    )
    java.leave(GROUP, "g-1")
    code, said = guard("g-1", "--after")
    assert (code, said) == (
        0,
        f"yes: {ids['g-1']} has left, and all queues of {GROUP} have owners\n",
    )
    assert len([one for one in java.owns(GROUP)[ids["g-2"]] if one.topic == TOPIC]) == 8
    code, said = guard("g-2", "--wait", "120s")
    assert (code, said.startswith(f"no: {GROUP} has no other client: its ")) == (
        3,
        True,
    )
    java.leave(GROUP, "g-2")
