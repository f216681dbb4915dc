"""Real clusters and simulated ones, and what members, verbs and services make of them: ``python -m
clusters [--quick] [--only PART] [--report FILE]``.

The long form needs a JDK and Maven; the short form has servers on loopback alone.
"""

import sys

from proof import run_parts

from clusters.alerts.firing import alerts
from clusters.alerts.rolling import rolling
from clusters.badday.runs import bad_day
from clusters.beside_java.parts import PARTS as BESIDE_JAVA
from clusters.departures.day import departures
from clusters.everyday.day import everyday
from clusters.frozen_broker.reading import frozen_broker
from clusters.incidents.plays import incidents
from clusters.one_shot.states import one_shot
from clusters.refusals.refusing import refusals

PARTS = {
    "bad day": bad_day,
    "frozen broker": frozen_broker,
    "incidents": incidents,
    "everyday": everyday,
    "departures": departures,
    "one shot": one_shot,
    "alerts": alerts,
    "rolling": rolling,
    "refusals": refusals,
    **BESIDE_JAVA,
}
QUICK = ("bad day", "frozen broker")
"""Parts that need no Java; `--only` with `--quick` has the short form of the others."""

if __name__ == "__main__":
    sys.exit(run_parts("clusters", __doc__, PARTS, QUICK))
