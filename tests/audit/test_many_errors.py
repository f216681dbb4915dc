"""What is not known is looked up, and not searched once for every group: a frozen broker fails a
request of each.
"""

import pytest
from audited import group, snapshot, topic

from rmqalloc.audit.settling import settlings
from rmqalloc.evidence import evidence_of
from rmqalloc.snapshot.snapshot import SourceError
from rmqalloc.snapshot.unknown import Unknowns

N = 20


@pytest.fixture
def cluster():
    groups = [group("c1", "c2", name=f"g{i}") for i in range(N)]
    errors = [
        SourceError("broker b", f"GET_CONSUMER_CONNECTION_LIST g{i}", "is down") for i in range(N)
    ]
    return snapshot(*groups, topics=(topic(),), errors=tuple(errors))


@pytest.mark.parametrize(("ask", "method"), [(settlings, "_keep_error"), (evidence_of, "_subject")])
def test_each_error_is_read_a_few_times_however_many_groups_there_are(
    cluster, monkeypatch, ask, method
):
    read, whole = [], getattr(Unknowns, method)
    monkeypatch.setattr(
        Unknowns, method, lambda self, error: read.append(error) or whole(self, error)
    )
    assert ask(cluster)
    assert N <= len(read) <= 8 * N
