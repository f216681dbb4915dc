"""The privileges of ACL 2.0 that docs/reference/snapshots.md names are enough for a snapshot, and needed, at
a real broker.
"""

import acl_broker as acl
import pytest
from live_cluster import LiveCluster

from rmqalloc.remoting.read_codes import ReadCode

pytestmark = [pytest.mark.cluster, pytest.mark.java]


def test_get_of_groups_is_what_a_snapshot_needs():
    cluster = LiveCluster()
    try:
        cluster.start_name_server()
        address = acl.start(cluster)
        acl.grant(address, "")
        of_groups = {
            ReadCode.GET_CONSUMER_CONNECTION_LIST,
            ReadCode.GET_CONSUMER_RUNNING_INFO,
            ReadCode.GET_CONSUME_STATS,
        }
        assert acl.refused(address) == of_groups
        acl.grant(address, "Group:*", "Get")
        assert acl.refused(address) == set()
    finally:
        cluster.stop()
