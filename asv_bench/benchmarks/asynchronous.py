"""send and recv: throughput, turnaround, what the hand-over costs per lane, and what it gains with uneven steps."""

import time

import numpy as np

import batchenv

# Steps of 40 us, one in 16 ten times as long: what engines are like.
UNEVEN = {"cost_us": 40.0, "tail_probability": 1 / 16, "tail_factor": 10.0}


def actions(rng, lanes):
    return rng.integers(2, size=lanes)


def turns(env, count):
    """`count` times: receive a batch and send its lanes back."""
    sent = actions(np.random.default_rng(0), env.batch_size)
    for _ in range(count):
        env.send(sent, env.recv()[4]["env_id"])


class Turn:
    """A hundred times a recv and a send of batch_size lanes."""

    params = ["64/32", "4096/2048", "64/1"]
    param_names = ("lanes/batch",)

    def setup(self, sizes):
        lanes, batch = map(int, sizes.split("/"))
        self.env = batchenv.make("CartPole-v1", lanes, batch_size=batch, seed=0)
        self.env.async_reset()
        turns(self.env, 300)

    def time_100_turns(self, sizes):
        turns(self.env, 100)

    def teardown(self, sizes):
        self.env.close()


class Turnaround:
    """One lane is sent and waited for: nothing else is under way."""

    params = [[1, 2], ["CartPole-v1", "Synthetic-v0"]]
    param_names = ("threads", "env")

    def setup(self, threads, env_id):
        options = {"cost_us": 0.0} if env_id == "Synthetic-v0" else {}
        self.env = batchenv.make(env_id, 8, batch_size=1, num_threads=threads, seed=0, **options)
        self.env.reset()
        self.action, self.lane = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for _ in range(300):
            self.time_there_and_back(threads, env_id)

    def time_there_and_back(self, threads, env_id):
        self.env.send(self.action, self.lane)
        self.env.recv()

    def teardown(self, threads, env_id):
        self.env.close()


def track_uneven_steps(learning_us, batch):
    """send and recv over step, lanes a second, where the caller also computes `learning_us` for every lane."""
    lanes, ratios = 32, []
    ours = batchenv.make("Synthetic-v0", lanes, batch_size=batch, seed=0, **UNEVEN)
    sync = batchenv.make("Synthetic-v0", lanes, seed=0, **UNEVEN)
    ours.async_reset(), sync.reset()
    sent, all_sent = (actions(np.random.default_rng(0), n) for n in (batch, lanes))
    for _ in range(5):
        rates = []
        for asynchronous in (True, False):
            count, start = 0, time.perf_counter()
            while time.perf_counter() < start + 0.3:
                if asynchronous:
                    ids = ours.recv()[4]["env_id"]
                    compute(learning_us * batch)
                    ours.send(sent, ids)
                    count += batch
                else:
                    sync.step(all_sent)
                    compute(learning_us * lanes)
                    count += lanes
            rates.append(count / (time.perf_counter() - start))
        ratios.append(rates[0] / rates[1])
    ours.close(), sync.close()
    return float(np.median(ratios))


track_uneven_steps.params = [[0.0, 5.0], [4, 8, 16]]
track_uneven_steps.param_names = ("learning_us", "batch")
track_uneven_steps.unit = "ratio"


def compute(us):
    end = time.thread_time_ns() + 1000 * us
    while time.thread_time_ns() < end:
        pass


class Overlap:
    """A step of 64 lanes with the caller's own work beside it, or after it."""

    params = [True, False]
    param_names = ("step_async",)

    def setup(self, overlapping):
        self.env = batchenv.make("Synthetic-v0", 64, seed=0, cost_us=20.0)
        self.env.reset()
        self.actions = np.zeros(64, np.int64)
        for _ in range(20):
            self.time_step_and_compute(overlapping)

    def time_step_and_compute(self, overlapping):
        if overlapping:
            self.env.step_async(self.actions)
            compute(600)
            self.env.step_wait()
        else:
            self.env.step(self.actions)
            compute(600)

    def teardown(self, overlapping):
        self.env.close()
