"""Waiting for batches in an event loop: asyncio beside other tasks, and selectors."""

import asyncio
import selectors

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError

import batchenv
from helpers.begun import begun
from helpers.queue import ready


def test_asyncio_beside_other_tasks():
    env = batchenv.make("Synthetic-v0", 6, batch_size=2, num_threads=2, cost_us=2000.0, wait=True)
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    async def run():
        other = asyncio.create_task(tick())
        env.async_reset(seed=1)
        steps = np.zeros(6, int)
        result = await env.arecv()
        env.send([0, 0], result[4]["env_id"])
        async for batch in env:
            ids = batch[4]["env_id"]
            steps[ids] += 1
            again = ids[steps[ids] < 10]
            if len(again):
                env.send(np.zeros(len(again), int), again)
        other.cancel()
        return steps

    steps = asyncio.run(run())
    assert steps.sum() >= 50 and ticks > 5
    with pytest.raises(RuntimeError, match="in flight"):
        asyncio.run(env.arecv())


def test_cheap_lanes_under_asyncio():
    env = ready(lanes=64, batch_size=32)

    async def run():
        env.async_reset(seed=1)
        for _ in range(50):
            result = await env.arecv()
            env.send(np.zeros(32, int), result[4]["env_id"])

    asyncio.run(asyncio.wait_for(run(), 20))


def test_two_tasks_cannot_both_wait():
    env = begun(batchenv.make("Synthetic-v0", 4, batch_size=2, num_threads=2, cost_us=30_000.0, wait=True))
    env.send([0, 0, 0, 0], [0, 1, 2, 3])

    async def run():
        return await asyncio.gather(env.arecv(), env.arecv(), return_exceptions=True)

    first, second = asyncio.run(asyncio.wait_for(run(), 20))
    assert len(first) == 5
    assert isinstance(second, RuntimeError) and "another task" in str(second)
    assert len(asyncio.run(env.arecv())) == 5


def test_two_tasks_cannot_wait_and_closing_wakes_one():
    env = begun(batchenv.make("Synthetic-v0", 2, batch_size=2, num_threads=2, cost_us=200_000.0, wait=True))
    env.send([0, 0], [0, 1])

    async def run():
        first = asyncio.create_task(env.arecv())
        await asyncio.sleep(0.01)
        with pytest.raises(RuntimeError, match="another task"):
            await env.arecv()
        assert len((await first)[0]) == 2
        env.send([0, 0], [0, 1])
        waiting = asyncio.create_task(env.arecv())
        await asyncio.sleep(0.01)
        env.close()
        with pytest.raises(ClosedEnvironmentError):
            await asyncio.wait_for(waiting, 5)

    asyncio.run(run())


def test_closing_under_asyncio():
    def start():
        env = batchenv.make("Synthetic-v0", 2, batch_size=2, num_threads=2, cost_us=100_000.0, wait=True)
        env.async_reset(seed=0)
        env.recv()
        env.send([0, 0], [0, 1])
        return env

    async def close_while_waiting():
        env = start()
        waiting = asyncio.create_task(env.arecv())
        await asyncio.sleep(0.01)
        env.close()
        with pytest.raises(ClosedEnvironmentError):
            await waiting

    async def close_inside_the_loop():
        env = start()
        rounds = 0
        async for _ in env:
            env.close()
            rounds += 1
        assert rounds == 1
        with pytest.raises(ClosedEnvironmentError):
            async for _ in env:
                pass

    asyncio.run(asyncio.wait_for(close_while_waiting(), 20))
    asyncio.run(asyncio.wait_for(close_inside_the_loop(), 20))


def test_a_closed_env_is_not_iterated():
    env = ready()
    env.send([0, 0], [0, 1])

    async def run():
        async for _ in env:
            env.close()

    asyncio.run(run())
    with pytest.raises(ClosedEnvironmentError):
        asyncio.run(run())


def test_selectors():
    env = begun(batchenv.make("Synthetic-v0", 2, batch_size=2, num_threads=2, cost_us=30_000.0, wait=True))
    with selectors.DefaultSelector() as selector:
        selector.register(env, selectors.EVENT_READ)
        assert selector.select(0) == []
        env.send([0, 0], [0, 1])
        assert selector.select(0) == []
        assert selector.select(5)
        env.recv(0)
        assert selector.select(0) == []


@pytest.mark.parametrize("way", ["arecv", "async for"])
def test_other_tasks_run_although_results_are_always_there(way):
    env = batchenv.make("CartPole-v1", 4, batch_size=4, num_threads=1)
    turns = received = 0
    done = False

    async def beat():
        nonlocal turns
        while not done:
            turns += 1
            await asyncio.sleep(0)

    async def run():
        nonlocal received, done
        other = asyncio.create_task(beat())
        env.async_reset(seed=1)
        start = asyncio.get_running_loop().time()
        while turns < 5 and asyncio.get_running_loop().time() < start + 60:
            if way == "arecv":
                await env.arecv()
                env.send(np.zeros(4, int), np.arange(4))
                received += 1
                continue
            async for _ in env:
                env.send(np.zeros(4, int), np.arange(4))
                received += 1
                if turns >= 5 or asyncio.get_running_loop().time() >= start + 60:
                    break
        done = True
        await other

    asyncio.run(run())
    assert turns >= 5 and received > 5
    env.close()


def test_a_cancelled_task_loses_no_results():
    env = batchenv.make("CartPole-v1", 4, batch_size=4, num_threads=1)
    env.async_reset(seed=1)

    async def run():
        waiting = asyncio.create_task(env.arecv())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return await env.arecv()

    assert len(asyncio.run(run())[0]) == 4
    env.close()
