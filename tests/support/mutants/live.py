"""Mutants of what reads a running cluster."""

from mutants.mutant import Mutant

_LIVE = "rmqalloc/snapshot/live"
_ANSWERS = "tests/snapshot/test_live_answers.py"
_JSON = "tests/remoting/test_live_json.py"
_DAY = "tests/snapshot/test_live_bad_day.py"
_WATCHING = "tests/snapshot/test_live_watching.py"

MUTANTS = [
    Mutant(
        "rmqalloc/remoting/_frame.py",
        "if type(value) is not int or not -_INT <= value < _INT:",
        "if isinstance(value, str):",
        "any number passes for an int of a header",
        f"{_ANSWERS} -k header",
    ),
    Mutant(
        "rmqalloc/remoting/_connection.py",
        "        except Exception as error:\n            # Whatever",
        "        except ZeroDivisionError as error:\n            # Whatever",
        "an error of the reading task is nobody's",
        f"{_ANSWERS} -k leaves_nobody",
    ),
    Mutant(
        "rmqalloc/remoting/_connection.py",
        "            if waiting is None:\n                raise",
        "            if waiting is None:\n                return",
        "a frame that answers nobody knows whom leaves all waiting",
        f"{_ANSWERS} -k leaves_nobody",
    ),
    Mutant(
        f"{_LIVE}/_answers.py",
        "if type(number) is not int or not least <= number < end:",
        "if not isinstance(number, int):",
        "numbers of any size pass",
        f"{_ANSWERS} -k bad_answer",
    ),
    Mutant(
        f"{_LIVE}/_answers.py",
        "            value.encode()\n",
        "            value.encode(errors='surrogatepass')\n",
        "half a surrogate pair passes for a name",
        f"{_ANSWERS} -k bad_answer",
    ),
    Mutant(
        f"{_LIVE}/_answers.py",
        "        except AnswerError as error:\n            on_left_out(error)",
        "        except AnswerError:\n            pass",
        "entries are left out and nobody is told",
        f"{_ANSWERS} -k bad_entry",
    ),
    Mutant(
        f"{_LIVE}/_answers.py",
        "sorted(found, key=_by_id)",
        "sorted(found)",
        "connections of one id with and without a language cannot be sorted",
        f"{_ANSWERS} -k sorted_whatever",
    ),
    Mutant(
        "rmqalloc/remoting/_address.py",
        "0 < int(port) < _PORTS",
        "0 < int(port)",
        "ports beyond 65535 pass",
        f"{_ANSWERS} -k addresses_of",
    ),
    Mutant(
        "rmqalloc/remoting/_response_codes.py",
        "    return shortened(text, _LONGEST)",
        "    return text",
        "escapes make an error ten times as long",
        f"{_ANSWERS} -k one_short",
    ),
    Mutant(
        "rmqalloc/remoting/_loose_json.py",
        "    if len(marks) > MAX_MARKS:",
        "    if len(marks) > MAX_MARKS * 100:",
        "the budget of values is a hundred times as large",
        f"{_JSON} -k budget",
    ),
    Mutant(
        "rmqalloc/remoting/_loose_json.py",
        "    is_deep = _weighed(body) > MAX_DEPTH",
        "    is_deep = False and _weighed(body)",
        "nesting has no bound where the standard decoder reads",
        f"{_JSON} -k nesting",
    ),
    Mutant(
        "rmqalloc/remoting/_loose_json.py",
        '    if "\\\\u0000" in text:',
        '    if "never there" in text:',
        "a name that begins with NUL is taken for the number of a key",
        f"{_JSON} -k look_like_keys",
    ),
    Mutant(
        "rmqalloc/remoting/_loose_json.py",
        """    rf'{_STRING}(?:"|\\Z)|""",
        """    rf'""",
        "text within strings is taken for keys, so that bodies fall to the slower parser",
        f"{_JSON} -k standard_decoder",
    ),
    Mutant(
        "rmqalloc/remoting/_loose_json.py",
        "            if self._is_over():",
        "            if False and self._is_over():",
        "the tolerant parser knows no time",
        f"{_JSON} -k too_long",
    ),
    Mutant(
        "rmqalloc/remoting/_loose_json.py",
        '        if first == "{" and _FLAT_OBJECT.match(text, at):',
        '        if first == "}" and _FLAT_OBJECT.match(text, at):',
        "the tolerant parser reads every member by itself",
        f"{_JSON} -k few_calls",
    ),
    Mutant(
        "rmqalloc/remoting/_client.py",
        "if len(body) <= _READ_AT_ONCE else",
        "if body else",
        "long bodies are read on the event loop",
        f"{_JSON} -k on_a_thread",
    ),
    Mutant(
        "rmqalloc/remoting/_health.py",
        "{SilentError: 2, UnreachableError: 3}",
        "{SilentError: 99, UnreachableError: 3}",
        "a frozen broker is asked again and again",
        f"{_DAY} -k frozen_broker_costs",
    ),
    Mutant(
        "rmqalloc/remoting/_health.py",
        "            self._failures.pop((address, kind), None)",
        "            pass",
        "two answers that do not come in a long run make a server down",
        f"{_DAY} -k failures_in_a_row",
    ),
    Mutant(
        "rmqalloc/remoting/_health.py",
        "        if is_waited_for and",
        "        if False and",
        "silent clients take all threads of a broker",
        f"{_DAY} -k keeps_threads",
    ),
    Mutant(
        "rmqalloc/remoting/_client.py",
        "                    self._silent.add(client_id)\n                raise\n            except ResponseError",
        "                    pass\n                raise\n            except ResponseError",
        "a silent client is waited for in each of its groups",
        f"{_DAY} -k side_by_side",
    ),
    Mutant(
        "rmqalloc/remoting/_client.py",
        "            async with asyncio.timeout_at(until):",
        "            async with asyncio.timeout_at(None):",
        "requests under way know no deadline",
        f"{_DAY} -k deadline_bounds",
    ),
    Mutant(
        "rmqalloc/remoting/_client.py",
        "min(self.timeout, max(share, _LEAST_WITHIN))",
        "self.timeout",
        "a frozen broker uses up the deadline",
        f"{_DAY} -k use_up",
    ),
    Mutant(
        "rmqalloc/cli/_snapshot_input.py",
        "by_reason.setdefault((one.source, one.message), [])",
        "by_reason.setdefault((one.source, one.request + one.message), [])",
        "a thousand lines for one reason",
        f"{_DAY} -k ends_with_4",
    ),
    Mutant(
        "rmqalloc/cli/_watch.py",
        "if fault not in still and lacks <= lacked:",
        "if fault not in still:",
        "what a partial look does not find is cleared",
        f"{_WATCHING} -k not_cleared",
    ),
    Mutant(
        "rmqalloc/cli/_watch.py",
        "if raised.is_first and not isinstance(error, NoMatchError):",
        "if raised.is_first:",
        "a group that does not exist yet ends the watch",
        f"{_WATCHING} -k not_there_yet",
    ),
]
