"""Mutants of the client half: what its ports may do to it, and what authors of clients are promised."""

from mutants.mutant import Mutant

_PORTS = "tests/rebalance/test_client_ports.py"
_READERS = "tests/rebalance/test_client_readers.py"
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
    Mutant("rmqalloc/rebalance/_table_update.py", "passive and not process_queue.pulling and process_queue.is_pull_expired(clock.now())", "False", "a queue that nobody reads is kept for ever", _READERS),
    Mutant("rmqalloc/rebalance/offset_store.py", "if queue is None or queue in self._frozen:", "if queue is None:", "a late offset overrules one that was reset", _READERS),
    Mutant(_LITE, "self.tasks.pop(queue).cancelled = True", "self.tasks.pop(queue)", "a loop is not told that its queue went", f"{_READERS} tests/rebalance/test_rebalance_changed.py"),
    Mutant("rmqalloc/rebalance/_system_clock.py", "self._push(0, _Entry(lambda: _complete(future, action), future))", "_complete(future, action)", "a call runs on the caller's thread", "tests/rebalance/test_rebalance_clock.py"),
    Mutant("rmqalloc/rebalance/_heartbeats.py", "            self._fingerprints.pop(address, None)", "            pass", "a broker that forgot a client is told no more", "tests/rebalance/test_rebalance_factory.py -k second_form"),
    Mutant("rmqalloc/rebalance/_table_update.py", "list(unneeded) if impl.client_factory.profile.drops_before_removing else unneeded", "list(unneeded)", "4.9 drops all queues before it removes one", "tests/rebalance/test_rebalance_differences.py"),
]  # fmt: skip
