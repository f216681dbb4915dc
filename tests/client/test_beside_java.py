"""Python members beside Java members in groups of one real cluster: the quick form of ``python -m
beside_java``.
"""

import pytest
from beside_java.scripts import quick_on

pytestmark = pytest.mark.cluster


@pytest.mark.thorough
def test_a_few_events(cluster, java):
    found = quick_on(cluster, java)
    assert found.wrong == []
    assert {row["owners_equal"] for row in found.data} == {True}
    assert "| java to python |" in found.text and "| python to java |" in found.text
