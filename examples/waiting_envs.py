"""256 environments that wait for a server, in one thread: every step is an HTTP request that takes 50 ms.

The server stands for what such environments talk to: a browser, a game, a language model's tool. It runs in a process
of its own. The same requests are then made by plain environments in SyncVectorEnv and AsyncVectorEnv, with fewer lanes.

    python examples/waiting_envs.py
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import multiprocessing
import time
from functools import partial

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import batchenv

WAIT = 0.05  # seconds that the server takes for an answer


def serve(pipe):
    """A server that counts: GET /7 is answered with the body {"next": 8}, after a while."""

    async def answer(reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):  # until the client leaves
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(WAIT)
                body = json.dumps({"next": int(request.split()[1][1:]) + 1}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        writer.close()

    async def run():
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


class Counting(gymnasium.Env):
    """Each step asks the server for the number after `action`, which the next observation then is."""

    observation_space, action_space = spaces.Box(0, 100, (1,), np.float32), spaces.Discrete(100)

    def __init__(self, port):
        self.port, self.steps = port, 0

    def told(self, number):
        self.steps += 1
        return np.float32([number]), float(number), self.steps % 100 == 0, False, {}


class Waiting(Counting):
    """Its step is a coroutine: the event loop goes on with other lanes while this one waits."""

    connection = None

    async def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.connection is None:
            self.connection = await asyncio.open_connection("127.0.0.1", self.port)
        return np.zeros(1, np.float32), {}

    async def step(self, action):
        reader, writer = self.connection
        writer.write(b"GET /%d HTTP/1.1\r\nHost: here\r\n\r\n" % action)
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(int(head.split(b"Content-Length: ")[1].split()[0]))
        return self.told(json.loads(body)["next"])

    async def close(self):
        if self.connection is not None:
            self.connection[1].close()


class Plain(Counting):
    """The same with a library that blocks."""

    connection = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.connection = self.connection or http.client.HTTPConnection("127.0.0.1", self.port)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.connection.request("GET", f"/{action}")
        return self.told(json.loads(self.connection.getresponse().read())["next"])

    def close(self):
        if self.connection is not None:
            self.connection.close()


def measure(name, env, seconds):
    """Steps all lanes for so long, and says how fast that was."""
    lanes = env.num_envs
    env.reset(seed=0)
    env.step(np.zeros(lanes, int))
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        observations, *_ = env.step(np.arange(lanes) % 100)
        assert (observations[:, 0] == np.arange(lanes) % 100 + 1).all()
        steps += lanes
    tell(name, lanes, steps / (time.perf_counter() - start))
    env.close()


def measure_first_come(name, env, seconds):
    """The same with send and recv: lanes that are ready go on, while others wait."""
    env.async_reset(seed=0)
    received, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        *_, infos = env.recv()
        env.send(np.full(env.batch_size, 7), infos["env_id"])
        received += env.batch_size
    tell(name, env.num_envs, received / (time.perf_counter() - start))
    env.close()


def measure_requests(name, make_env, lanes, seconds):
    """The same requests without any vector environment: what this computer can do at most."""

    async def run():
        envs = [make_env() for _ in range(lanes)]
        await asyncio.gather(*[env.reset() for env in envs])
        steps, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            await asyncio.gather(*[env.step(k % 100) for k, env in enumerate(envs)])
            steps += lanes
        tell(name, lanes, steps / (time.perf_counter() - start))
        await asyncio.gather(*[env.close() for env in envs])

    asyncio.run(run())


def tell(name, lanes, speed):
    print(f"{name:<42} {lanes:>4} lanes {speed:>6.0f} steps/s: {speed * WAIT / lanes:.2f} of one per lane and {WAIT} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each is measured")
    parser.add_argument("--quick", action="store_true", help="half a second each")
    args = parser.parse_args()
    seconds = 0.5 if args.quick else args.seconds
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    waiting, plain = partial(Waiting, port), partial(Plain, port)
    make = partial(batchenv.make_python, workers="asyncio")
    measure_requests("the requests alone, asyncio.gather", waiting, 256, seconds)
    measure("batchenv, coroutines, step", make(waiting, 256), seconds)
    measure_first_come("batchenv, coroutines, send and recv of 32", make(waiting, 256, batch_size=32), seconds)
    measure("batchenv, plain envs in a thread each, step", make(plain, 256), seconds)
    measure("SyncVectorEnv", SyncVectorEnv([plain] * 16), seconds)
    measure("AsyncVectorEnv", AsyncVectorEnv([plain] * 16, context="spawn"), seconds)
    server.terminate()


if __name__ == "__main__":
    main()
