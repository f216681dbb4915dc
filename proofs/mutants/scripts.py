"""Mutants of what reads, checks and configures scripts of simulations."""

from mutants.mutant import Mutant

_KINDS = "rmqalloc/documents/fields.py"
_STEPS = "rmqalloc/simulation/_steps.py"
_SETTINGS = "rmqalloc/simulation/_settings.py"
_NETWORK = "rmqalloc/simulation/_network.py"
_CLUSTER = "rmqalloc/simulation/_cluster.py"
_SCRIPT = "rmqalloc/simulation/_script.py"
_OF_SCRIPTS = "tests/simulation/test_simulation_script.py"
_OF_STEPS = "tests/simulation/test_simulation_steps.py"
_OF_SETTINGS = "tests/simulation/test_simulation_settings.py"
_OF_SCHEMA = "tests/simulation/test_simulation_schema.py"

MUTANTS = [
    Mutant(
        _KINDS,
        "isinstance(given, Milliseconds) or (given == 0 and type(given) is int)",
        "type(given) in (Milliseconds, int)",
        "a time without a unit is taken for milliseconds",
        _OF_SCRIPTS,
    ),
    Mutant(
        _KINDS,
        '"^(?!0+[a-z])[0-9]{1,9}(ms|s|m|h)$"',
        '"^[0-9]{1,9}(ms|s|m|h)$"',
        "the schema lets a pause last 0s",
        _OF_SCHEMA,
    ),
    Mutant(
        _KINDS,
        "if self % 1_000 else",
        "if self % 60_000 else",
        "a script that is written back has other times",
        _OF_SCHEMA,
    ),
    Mutant(_STEPS, "if last.until is not None:", "if False:", "a client that is gone is crashed again", _OF_STEPS),
    Mutant(
        _STEPS,
        "while self._later and self._later[0][0] <= until:",
        "while self._later and self._later[0][0] < until:",
        "a client that starts at the time of a step is not there",
        _OF_STEPS,
    ),
    Mutant(
        _STEPS,
        "if one.frozen_until > self._now:\n                self._overlaps",
        "if one.frozen_until >= self._now:\n                self._overlaps",
        "a freeze right after another is refused",
        _OF_STEPS,
    ),
    Mutant(
        _STEPS,
        "self._down.update(dict.fromkeys(event.brokers, self._now + event.lasts))",
        "self._down.update(dict.fromkeys(event.brokers, event.lasts))",
        "a broker is back as many seconds after the beginning as it is down",
        _OF_STEPS,
    ),
    Mutant(
        _STEPS,
        "if event.at + lasts > self._end:",
        "if event.at > self._end:",
        "what lasts may go on past the end",
        _OF_STEPS,
    ),
    Mutant(
        _STEPS,
        "if (until := self._cut.get((client, broker), 0)) > self._now:",
        "if (until := self._cut.get((broker, client), 0)) > self._now:",
        "the end of a partition ends another one",
        _OF_STEPS,
    ),
    Mutant(
        _STEPS,
        'one.until, one.ended = self._now, "was shut down by a rolling restart"',
        'one.ended = "was shut down by a rolling restart"',
        "a client in a rolling restart counts as running",
        _OF_STEPS,
    ),
    Mutant(
        _SCRIPT,
        '    object.__setattr__(script, "_document", document)',
        '    object.__setattr__(script, "_documents", document)',
        "what a run finds has no file, line and column",
        _OF_SETTINGS,
    ),
    Mutant(
        _SETTINGS,
        '"channel_expired_timeout": (broker.consumers, "channel_expired_timeout")',
        '"channel_expired_timeout": (broker.consumers, "expired_timeout")',
        "the expiry of channels stays at 120 s",
        _OF_SETTINGS,
    ),
    Mutant(
        _SETTINGS,
        "        if not self.given():\n",
        "        if self.given() is None:\n",
        "an event that changes nothing is passed over",
        _OF_SETTINGS,
    ),
    Mutant(
        _NETWORK,
        "        connection.last_used = network.clock.time\n        return connection",
        "        return connection",
        "a living client counts as idle",
        _OF_SETTINGS,
    ),
    Mutant(
        _NETWORK,
        "            self.is_open = False\n            self.broker.consumers.channel_closed(self)",
        "            self.is_open = False",
        "the group of an idle connection is not told",
        _OF_SETTINGS,
    ),
    Mutant(
        "rmqalloc/simulation/_member.py",
        '        """Die without any broker noticing: no power, no network."""\n        self.pulled()\n',
        '        """Die without any broker noticing: no power, no network."""\n',
        "a connection that is pulled over counts as idle since the last request",
        _OF_SETTINGS,
    ),
    Mutant(
        "rmqalloc/simulation/_member.py",
        "if not self.process.is_frozen:  # else",
        "if True:  # else",
        "a client that is stalled reads on when its pause ends",
        _OF_STEPS,
    ),
    Mutant(
        _CLUSTER,
        "topic_route=self._name_server.topic_route, request_modes=modes)",
        "topic_route=self._name_server.topic_route)",
        "a broker forgets request modes when it restarts",
        _OF_SETTINGS,
    ),
    Mutant(
        _STEPS,
        "if not any(broker in self._holders[topic] for topic in one.topics):",
        "if not self._holders:",
        "a connection that cannot be there is closed",
        _OF_STEPS,
    ),
    Mutant(
        _SETTINGS,
        "return None if profile.server_assignment else",
        "return None if profile.name else",
        "4.9 takes settings that it does not have",
        _OF_SETTINGS,
    ),
    Mutant(
        "rmqalloc/simulation/_actions.py",
        'raise ScenarioError(f"client {name} does not run; let it join before")',
        "return []",
        "a cluster passes over clients that do not run",
        _OF_STEPS,
    ),
    Mutant(
        "tests/support/script_reference.py",
        """left_out = "**needed**" if name in schema["required"] else""",
        """left_out = "" if name in schema["required"] else""",
        "the page does not say which fields are needed",
        _OF_SCHEMA,
    ),
]
