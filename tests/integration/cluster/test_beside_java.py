"""Python members beside Java members in groups of one real cluster: a few events of what ``python -m
clusters`` plays.
"""

import pytest
from clusters.beside_java.scripts import quick_on

pytestmark = pytest.mark.cluster


@pytest.mark.thorough
def test_a_few_events(cluster, java):
    found = quick_on(cluster, java)
    assert found.wrong == []
    assert {row["owners_equal"] for row in found.data} == {True}
    assert "| java to python |" in found.text and "| python to java |" in found.text
