"""The simulated clock of tests: it stands still while anything is at work, and jumps where nothing
is.
"""

import asyncio
import threading
import time

import pytest
import simulated_time
from simulated_time import Simulation

YEAR = 365 * 24 * 3600


def test_what_waits_longest_comes_last_and_nobody_waits():
    async def main():
        order, begun = [], asyncio.get_running_loop().time()

        async def after(seconds):
            await asyncio.sleep(seconds)
            order.append(seconds)

        await asyncio.gather(*map(after, [YEAR, 5, 0, 3.5]))
        return order, asyncio.get_running_loop().time() - begun

    assert simulated_time.run(main()) == ([0, 3.5, 5, YEAR], YEAR)


@pytest.mark.parametrize("where", ["in the loop", "on a thread", "on the loop's own thread"])
def test_no_time_passes_while_code_runs(where):
    """However long that takes, beside a timer that is due after less."""

    async def main():
        loop = asyncio.get_running_loop()
        begun, due = loop.time(), loop.create_future()
        loop.call_later(0.001, due.set_result, None)
        if where == "in the loop":
            time.sleep(0.05)
        elif where == "on a thread":
            await loop.run_in_executor(None, time.sleep, 0.05)
        else:
            await asyncio.to_thread(time.sleep, 0.05)
        passed = loop.time() - begun
        await due
        return passed, loop.time() - begun

    assert simulated_time.run(main()) == (0, pytest.approx(0.001))


def test_a_silent_server_is_waited_for_and_one_that_answers_is_not():
    async def serve(reader, writer):
        while line := await reader.readline():
            if line != b"silence\n":
                writer.write(line * 100_000)
        writer.close()

    async def main():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        loop, port = asyncio.get_running_loop(), server.sockets[0].getsockname()[1]
        begun = loop.time()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello\n")
        async with asyncio.timeout(1):
            answer = await reader.readexactly(600_000)
        passed = loop.time() - begun
        writer.write(b"silence\n")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await reader.readline()
        passed_in_silence = loop.time() - begun
        writer.close()
        await asyncio.sleep(1)  # until the server has seen it
        server.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        return answer == b"hello\n" * 100_000, passed, passed_in_silence

    assert simulated_time.run(main()) == (True, 0, 60)


def test_one_clock_goes_on_over_the_loops_of_a_simulation():
    simulation = Simulation()
    with simulation.everywhere():
        for _ in range(3):
            asyncio.run(asyncio.sleep(7))
        thread = threading.Thread(target=lambda: asyncio.run(asyncio.sleep(9)))
        thread.start()
        thread.join()
    assert simulation.now == 1030
