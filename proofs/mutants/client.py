"""Mutants of the client half: what its ports may do to it, and what authors of clients are promised."""

from mutants.mutant import Mutant

_PORTS = "tests/rebalance/test_client_ports.py"
_READERS = "tests/rebalance/test_client_readers.py"
_DRIVING = "rmqalloc/rebalance/driving.py"
_STEPS = "tests/rebalance/test_driving.py"
_FACTORY = "rmqalloc/rebalance/_client_factory.py"
_PUSH = "rmqalloc/rebalance/_push_consumer.py"
_LITE = "rmqalloc/rebalance/_lite_pull_consumer.py"
_PROCESS_QUEUE = "rmqalloc/rebalance/process_queue.py"

MUTANTS = [
    Mutant("rmqalloc/rebalance/_heartbeats.py", "except Exception as error:  # whatever it is, the other brokers get theirs", "except OSError as error:", "a heartbeat that fails keeps the other brokers from being told", _PORTS),
    Mutant(_FACTORY, "except Exception as error:  # whatever it is, the other brokers are asked too and the client ends", "except OSError as error:", "a client that cannot say that it leaves does not end", _PORTS),
    Mutant(_FACTORY, 'except Exception as error:\n            refuse_defect(error)\n            log.info("%s cannot give', 'except OSError as error:\n            refuse_defect(error)\n            log.info("%s cannot give', "an error instead of a client list fails the pass", _PORTS),
    Mutant(_FACTORY, 'except Exception as error:\n            refuse_defect(error)\n            raise ClientError(f"broker', 'except OSError as error:\n            refuse_defect(error)\n            raise ClientError(f"broker', "an error instead of a first offset is not the client's own", f"{_PORTS} tests/rebalance/test_rebalance_first_offset.py"),
    Mutant(_PUSH, "take(request, delay)\n            except Exception as error:", "take(request, delay)\n            except KeyError as error:", "a reader that refuses one queue keeps all others from being read", _READERS),
    Mutant(_PUSH, "        self._hand_over(self._consumer.dispatcher.pop_later, requests, delay)\n", "        for request in requests:\n            self._consumer.dispatcher.pop_later(request, delay)\n", "a popped queue that is refused ends the pass", _READERS),
    Mutant(_PROCESS_QUEUE, "return not self.pulling and now - self.last_pull_timestamp > PULL_MAX_IDLE", "return now - self.last_pull_timestamp > PULL_MAX_IDLE", "a loop of pulls that does not stamp each try expires", _READERS),
    Mutant("rmqalloc/rebalance/_rebalance_impl.py", "is_passive and process_queue.is_pull_expired(self.client_factory.clock.now())", "False", "a queue that nobody reads is kept for ever", _READERS),
    Mutant("rmqalloc/rebalance/offset_store.py", "if queue is None or queue in self._frozen:", "if queue is None:", "a late offset overrules one that was reset", _READERS),
    Mutant(_LITE, "self.tasks.pop(queue).cancelled = True", "self.tasks.pop(queue)", "a loop is not told that its queue went", f"{_READERS} tests/rebalance/test_rebalance_changed.py"),
    Mutant("rmqalloc/rebalance/_system_clock.py", "self._push(0, _Entry(lambda: _complete(future, action), future))", "_complete(future, action)", "a call runs on the caller's thread", "tests/rebalance/test_rebalance_clock.py"),
    Mutant("rmqalloc/rebalance/_heartbeats.py", "            self._fingerprints.pop(address, None)", "            pass", "a broker that forgot a client is told no more", "tests/rebalance/test_rebalance_factory.py -k second_form"),
    Mutant("rmqalloc/rebalance/_rebalance_impl.py", "if self.client_factory.profile.drops_before_removing:", "if True:", "4.9 drops all queues before it removes one", "tests/rebalance/test_rebalance_differences.py"),
    # --- Steps and lanes ---
    Mutant(_DRIVING, "        if self.is_busy or self._goes_on or self._waiting:\n", "        if self._goes_on or self._waiting:\n", "two passes of a client at once", _STEPS),
    Mutant(_DRIVING, "heapq.heappush(self._waiting, (due, next(self._order), steps, done))", "heapq.heappush(self._waiting, (0, next(self._order), steps, done))", "what was due later is done earlier", _STEPS),
    Mutant(_DRIVING, "request = steps.send(answer) if failed is None else steps.throw(failed)", "request = steps.send(answer)", "an error counts as an answer", _STEPS),
    Mutant(_FACTORY, "beats = Lane(self.driver) if self._manager.heartbeats_apart else self.lanes.scheduled", "beats = self.lanes.scheduled", "heartbeats wait for routes although they are apart", _STEPS),
    Mutant("rmqalloc/rebalance/_heartbeats.py", "        if self._apart is not None:\n            self._send_apart", "        if False:\n            self._send_apart", "one frozen broker holds the heartbeats of the others back", _STEPS),
    Mutant(_PUSH, "            self.client_factory.after_passes(self.rebalance.destroy)", "            self.rebalance.destroy()", "a pass that was under way fills the table after the end", _STEPS),
]  # fmt: skip
