"""Mutants of what looks at a cluster every day: readings again and again, what is watched, told, kept, guarded and served."""

from mutants.mutant import Mutant

_WATCHING = "rmqalloc/watching"
_HISTORY = "rmqalloc/history"
_GUARD = "rmqalloc/guard"
_LIVE = "rmqalloc/snapshot/live"
_SERVICE = "rmqalloc/service"
_LASTING = "tests/watching/test_lasting_states.py -k what_is_told"
_CHANGES = "tests/watching/test_changes.py -k"
_WEBHOOK = "tests/watching/test_webhook.py -k"
_PAST = "tests/history/test_history.py -k"
_MAY_STOP = "tests/guard/test_may_stop.py -k"
_LEASES = "tests/guard/test_leases.py -k"
_WAITING = "tests/guard/test_waiting.py -k"
_REREADING = "tests/snapshot/test_rereading.py -k"
_ACCESS = "tests/service/test_access.py -k"
_READINGS = "tests/service/test_readings.py -k"
_METRICS = "tests/service/test_metrics.py -k"
_MCP = "tests/mcp_server/test_mcp_server.py -k"

MUTANTS = [
    Mutant(f"{_WATCHING}/lasting_states.py", "if state is None or not state.is_pending or state.pending != value:", "if state is None:", "a state is reported after one sighting", _LASTING),
    Mutant(f"{_WATCHING}/lasting_states.py", "state.value == value:\n            self._states[key] = _Lasting(True, value, at)", "state.value == value:\n            self._states[key] = _Lasting(True, value, until)", "a change is placed after the last part of a sighting that did not show it", _LASTING),
    Mutant(f"{_WATCHING}/lasting_states.py", "pending_since=until)", "pending_since=at)", "a change is placed before the part of the sighting that showed it", _LASTING),
    Mutant(f"{_WATCHING}/_member_changes.py", "if group.name not in reading.not_read and at is not None and", "if at is not None and", "clients of a group that was not read have left", f"{_CHANGES} groups_that_were_not_read"),
    Mutant(f"{_WATCHING}/_member_changes.py", "if reading.is_whole:\n            for", "if True:\n            for", "a group that one broker does not list is gone", f"{_CHANGES} only_if_all_brokers"),
    Mutant(f"{_WATCHING}/_owner_changes.py", "at = min(times) if is_reported", "at = max(times) if is_reported", "a report from before the last sighting counts again", f"{_CHANGES} once_all_were_read"),
    Mutant(f"{_WATCHING}/_owner_changes.py", 'is_known = sighting.is_empty or known == ("reported" if sighting.is_reported else "computed")', "is_known = True", "queues of clients that say nothing have moved", f"{_CHANGES} fail_to_come"),
    Mutant(f"{_WATCHING}/observing.py", "if self._looks and reading.read_at < self._looks[-1].read_at:", "if False:", "after a clock went back nothing is seen until it has caught up", f"{_CHANGES} clock_that_goes_back"),
    Mutant(f"{_WATCHING}/observing.py", "if len(looks) > 2 and looks[-3].lacks <= looks[-2].lacks else None", "if len(looks) > 2 else None", "a look that could not see a finding says that it was not there", f"{_CHANGES} what_a_look_lacks"),
    Mutant(f"{_WATCHING}/_settle_times.py", "since is not None and _is_read_since(reading, there[name], since):", "since is not None:", "a group has settled by reports from before the change", f"{_CHANGES} by_reports_from_after"),
    Mutant(f"{_WATCHING}/webhook.py", "self._parts, self._shown = _parts(address), shown_address(address)", "self._parts, self._shown = _parts(address), address", "the secret of the address is in what is said", f"{_WEBHOOK} could_not_be_posted"),
    Mutant(f"{_WATCHING}/webhook.py", 'return _Failure(f"answered {status}, and redirects are not followed", False)', 'return HTTPConnection(urlsplit(response.headers["Location"]).netloc).request("POST", "/", b"{}")', "a redirect is followed", f"{_WEBHOOK} a_refusal_is_final"),
    Mutant(f"{_WATCHING}/webhook.py", "context=ssl.create_default_context()", "context=ssl._create_unverified_context()", "any certificate will do", f"{_WEBHOOK} certificate_is_verified"),
    Mutant(f"{_WATCHING}/webhook.py", "self._closing.wait(pause):", "time.sleep(pause):", "the end waits for more tries", f"{_WEBHOOK} does_not_wait"),
    Mutant(f"{_WATCHING}/webhook_forms.py", '"<": "&lt;"', '"<": "<"', "a group's name notifies a whole channel", "tests/watching/test_webhook_forms.py -k hostile"),
    Mutant(f"{_WATCHING}/webhook_forms.py", "for one in told if one.before is not None", "for one in ()", "an alert whose severity changed stays open", "tests/watching/test_webhook_forms.py -k another_severity"),
    Mutant(f"{_HISTORY}/_spans.py", "is_far = at - self.last > self._gap_ms", "is_far = False", "the time between readings far apart is stated as known", f"{_PAST} far_apart"),
    Mutant(f"{_HISTORY}/_past_timeline.py", "if at <= span.certain:", "if at <= span.certain or not later:", "what one reading showed is known", f"{_PAST} a_moment_has_its_owners"),
    Mutant(f"{_HISTORY}/_past_timeline.py", "if later is not None:  # another part", "if False:  # another part", "a moment within a change is known", "tests/history/test_observed.py -k in_doubt"),
    Mutant(f"{_HISTORY}/_past_timeline.py", "(until IS NULL OR until>?)", "until>?", "a group that is not read is known as long as it is not", f"{_PAST} group_that_is_not_read"),
    Mutant(f"{_HISTORY}/recording.py", "if at <= self._spans.last:", "if at < 0:", "a clock that goes back makes an interval that ends before it begins", f"{_PAST} clock_that_goes_back"),
    Mutant(f"{_HISTORY}/recording.py", "        for row in rows:\n            self._unwritten.setdefault(row.subject, row.before)\n\n", "\n", "what changed while the disk was full is lost", f"{_PAST} full_disk"),
    Mutant(f"{_HISTORY}/recording.py", "self._n_whole + 1 if reading.is_whole and not reading.not_read else 0", "self._n_whole + 1", "what the first readings after a restart lack has ended", f"{_PAST} after_a_restart"),
    Mutant(f"{_HISTORY}/recording.py", "seen = set(map(fault_of, observation.findings))", "seen = set(map(fault_of, observation.lasting))", "a finding that is seen again after a restart has ended", f"{_PAST} after_a_restart"),
    Mutant(f"{_HISTORY}/_present.py", '"subscriptions" in unknown else {GROUP}', '"subscriptions" in unknown or reading.snapshot.errors else {GROUP}', "a silent client hides that a group has gone", f"{_PAST} after_a_restart"),
    Mutant(f"{_HISTORY}/_bounding.py", "while self._used() > _FULL * self._most_pages:", "while False:", "a history that is full ends", f"{_PAST} within_its_size"),
    Mutant(f"{_HISTORY}/_bounding.py", "least = key + 1 if state.is_gone else key", "least = key + 1", "what is in force is dropped with what is old", f"{_PAST} within_its_age"),
    Mutant(f"{_HISTORY}/_database.py", '"BEGIN EXCLUSIVE"', '"BEGIN"', "two recorders write one file", f"{_PAST} one_recorder"),
    Mutant("rmqalloc/cli/_history_options.py", "Exit(exit_codes.PARTIAL)", "Exit(0)", "a moment that is not known ends well", "tests/cli/test_cli_history.py -k not_known_ends"),
    Mutant(f"{_GUARD}/stops.py", "for name, ids in meant.items() if states[name].state == SETTLED}", "for name, ids in meant.items()}", "a client may stop while the change before has not settled", f"{_MAY_STOP} not_while_the_change"),
    Mutant(f"{_GUARD}/stops.py", "    rows += [_not_listed(name, target, why) for name, why in hidden.items() if name not in meant]\n", "", "groups that may have the client and could not be read do not count", f"{_MAY_STOP} may_not_be_listed"),
    Mutant("rmqalloc/audit/settling.py", "not signed.silent.isdisjoint(signed.client_ids):", "False:", "a silent client has settled", f"{_MAY_STOP} what_decides"),
    Mutant(f"{_GUARD}/guard_leases.py", "if now - one.granted_at < self._seconds}", "}", "a lease never ends", f"{_LEASES} a_lease_expires"),
    Mutant(f"{_GUARD}/guard_leases.py", "if name in states and states[name].state == SETTLED:", "if name in states:", "the next may stop while the group has not settled", f"{_LEASES} the_next_may"),
    Mutant(f"{_GUARD}/guard_leases.py", "            if held is not None and held.clients.keys() != clients.keys():\n", "            if held is None and name in self._leases:\n", "two of a group may stop at one time", f"{_LEASES} one_stop_of_a_group"),
    Mutant(f"{_GUARD}/guard_watch.py", "elif _is_read_after(reading, {one.consumer_group for one in answer.rows}, seen[1]):", "else:", "a report from before the first reading confirms it", f"{_WAITING} second_reading"),
    Mutant(f"{_GUARD}/guard_watch.py", "answer, seen = self._unanswered(error), None", "answer = self._unanswered(error)", "a reading that failed is passed over", f"{_WAITING} counts_as_none"),
    Mutant(f"{_LIVE}/_known_before.py", "name: info.value if info.reading >= self.changed_in else info.value._replace(owned=None, popped=())", "name: info.value", "queues from before a change of the group are current", f"{_REREADING} from_before_a_change"),
    Mutant(f"{_LIVE}/_known_before.py", "if other != broker and part.reading < reading and part.value is not None:", "if False:", "who left stays while a broker is silent", f"{_REREADING} who_left_is_gone"),
    Mutant(f"{_LIVE}/_retake.py", "            else:\n                groups[name].not_listed.append(broker)", "            else:\n                groups[name].listed(broker, None, time.time(), reading)", "clients of a broker that does not answer are gone", f"{_REREADING} have_not_left"),
    Mutant(f"{_LIVE}/_retake.py", "order = sorted(groups, key=lambda name: _reading(groups[name].views.get(broker)))", "order = sorted(groups)", "the last groups are never read where time is short", f"{_REREADING} comes_first"),
    Mutant(f"{_LIVE}/rereading.py", "not_read = frozenset(name for name in ages if self._before.groups[name].not_listed)", "not_read = frozenset[str]()", "nothing says which groups were not read", f"{_REREADING} frozen_broker"),
    Mutant("rmqalloc/remoting/_pace.py", "at = max(self._next, now - _AHEAD)", "at = now - _AHEAD", "servers get as many requests as there are", f"{_REREADING} than_its_budget"),
    Mutant(f"{_SERVICE}/front_door.py", 'if self.hosts and _name_of(headers.only("host")) not in self.hosts:', "if False:", "any name that leads to loopback will do", f"{_ACCESS} host_must_be"),
    Mutant(f"{_SERVICE}/front_door.py", 'if not hmac.compare_digest(given.encode("latin-1", "replace"), right):', "if not given:", "any token will do", f"{_ACCESS} token_is_needed"),
    Mutant(f"{_SERVICE}/front_door.py", '        if token is None:\n            raise AccessError(', '        if token is None:\n            AccessError(', "everybody may ask beyond loopback", f"{_ACCESS} token_is_needed"),
    Mutant(f"{_SERVICE}/front_door.py", '("cross-site", "same-site")', '("cross-site",)', "a page of a neighbour gets answers", f"{_ACCESS} other_sites"),
    Mutant(f"{_SERVICE}/guarding.py", '"no": HTTPStatus.CONFLICT', '"no": HTTPStatus.OK', "scripts take a no for a yes", "tests/service/test_answers.py -k guard_says"),
    Mutant(f"{_SERVICE}/web_app.py", "self._fresh_state() if question.is_of_now else self._state()", "self._state()", "the guard answers by an old reading", "tests/service/test_answers.py -k guard_says"),
    Mutant(f"{_SERVICE}/readings.py", "time.time() - state.read_at <= FRESH * self.every", "state.read_at > 0", "an old reading is ready", f"{_READINGS} once_it_is_old"),
    Mutant(f"{_SERVICE}/readings.py", "                one.record(observation)\n            except (Error, OSError) as error:", "                one.record(observation)\n            except ValueError as error:", "a history that cannot be written ends the readings", f"{_READINGS} cannot_be_written"),
    Mutant(f"{_SERVICE}/tallies.py", "if one.after is None or (one.before is None and one.last_seen_before is not None):", "if one.after is None or one.before is None:", "who was there at the beginning has joined", f"{_READINGS} counts_only_grow"),
    Mutant(f"{_SERVICE}/workers.py", "            self._free.release()", "            pass", "after so many heavy answers there is no other", f"{_ACCESS} asked_to_come_back"),
    Mutant(f"{_SERVICE}/metrics.py", "return {(group,): value for group, value in pairs if value is not None}", "return {(group,): value or 0 for group, value in pairs}", "what is not known is served as 0", f"{_METRICS} is_not_known"),
    Mutant(f"{_SERVICE}/metrics.py", 'values[("",)] = total', "total", "groups beyond the worst are nowhere", f"{_METRICS} are_summed"),
    Mutant("rmqalloc/advice/replicas.py", "np.bincount(owners[(owners >= 0) & self.is_written], minlength", "np.bincount(owners[owners >= 0], minlength", "a client with dry queues alone has work", "tests/advice/test_replicas.py -k dry_queues_of_one"),
    Mutant("rmqalloc/mcp_server/_bounds.py", "if len(text_of(kept)) <= most_bytes:", "if True:", "an answer is as long as the cluster makes it", f"{_MCP} cut_to_bytes"),
    Mutant("rmqalloc/mcp_server/_server.py", "    if n > MOST_ARGUMENT_CHARACTERS:", "    if False:", "arguments of any length are read", f"{_MCP} wrong_arguments"),
    Mutant("rmqalloc/mcp_server/_subject.py", "rmqalloc.fetch(self.name_server, groups, topics, **self.how)", "rmqalloc.fetch(self.name_server, **self.how)", "every question reads the whole cluster", f"{_MCP} only_what_is_asked"),
]  # fmt: skip
