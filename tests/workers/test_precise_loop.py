"""The event loop of envs that wait."""

import asyncio
import select
import selectors

import pytest

from batchenv.workers.asyncio import precise_loop

pytestmark = pytest.mark.skipif(
    selectors.DefaultSelector.__name__ != "EpollSelector", reason="only epoll rounds timeouts up to milliseconds"
)


def sleeps(loop, monkeypatch):
    """The timeouts of `select`, which is epoll's own only if there are none, while something sleeps in this loop."""
    timeouts, real = [], select.select

    def spy(readers, writers, others, timeout):
        timeouts.append(timeout)
        return real(readers, writers, others, timeout)

    monkeypatch.setattr(select, "select", spy)
    before = loop.time()
    try:
        loop.run_until_complete(asyncio.sleep(0.0103))
        assert loop.time() - before >= 0.0102
    finally:
        loop.close()
    return timeouts


def test_sleeps_are_not_rounded(monkeypatch):
    timeouts = sleeps(precise_loop.new_event_loop(), monkeypatch)
    assert timeouts and 0 < timeouts[0] < 0.0103


def test_a_descriptor_with_a_large_number(monkeypatch):
    """`select` would write beside its memory."""
    loop = precise_loop.new_event_loop()
    monkeypatch.setattr(precise_loop, "_MOST_FILES", 0)
    assert sleeps(loop, monkeypatch) == []


def test_what_comes_is_heard_at_once():
    """A call from another thread ends the wait."""
    loop = precise_loop.new_event_loop()

    async def hear():
        heard = asyncio.Event()
        asyncio.get_running_loop().run_in_executor(None, loop.call_soon_threadsafe, heard.set)
        await asyncio.wait_for(heard.wait(), 60)

    loop.run_until_complete(hear())
    loop.close()


def test_a_loop_of_the_programs_own_stays():
    class Own(asyncio.SelectorEventLoop):
        pass

    class Policy(asyncio.DefaultEventLoopPolicy):
        _loop_factory = Own

    before = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(Policy())
    try:
        loop = precise_loop.new_event_loop()
        assert type(loop) is Own
        loop.close()
    finally:
        asyncio.set_event_loop_policy(before)
