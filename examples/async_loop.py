"""A learner that is kept busy: with uneven steps, `send` and `recv` instead of `step`. Needs nothing but batchenv.

python examples/async_loop.py [--quick]

The environment is Synthetic-v0, whose steps only take time: 40 us, and one step in 16 takes 1 ms, like those of a game
or a simulation that now and then loads or searches something. The learner estimates the value of a random policy by
TD(0) in NumPy. Rewards are 0.5 on average and a step ends an episode with a chance of 2%, so values are near
0.5 / (1 - 0.98 GAMMA).
"""

import argparse
import time

import numpy as np

import batchenv

LANES, BATCH = 64, 16
FEATURES, RATE, GAMMA = 256, 1e-4, 0.9


class Learner:
    """A linear model of the value, over random cosines of the observation. It remembers what each lane saw last."""

    def __init__(self, num_actions):
        self.rng = np.random.default_rng(0)
        self.num_actions = num_actions
        self.frequencies = self.rng.normal(size=(3, FEATURES))
        self.phases = self.rng.uniform(0, 2 * np.pi, FEATURES)
        self.weights = np.zeros(FEATURES)
        self.seen = np.zeros((LANES, 3))  # the last observation of each lane
        self.over = np.ones(LANES, bool)  # whether the lane's episode is over, or has not begun

    def features(self, observations):
        return np.cos(observations / (100.0, 1.0, 2.0**32) @ self.frequencies + self.phases)

    def values(self):
        return self.features(self.seen) @ self.weights

    def act(self, lanes):
        return self.rng.integers(self.num_actions, size=len(lanes))

    def learn(self, lanes, observations, rewards, terminations, truncations):
        # After an episode's end a step only resets its lane (autoreset mode NextStep), so there is nothing to learn
        # from it.
        used = ~self.over[lanes]
        before, after = self.features(self.seen[lanes][used]), self.features(observations[used])
        for _ in range(4):
            goal = rewards[used] + GAMMA * ~terminations[used] * (after @ self.weights)
            self.weights += RATE * before.T @ (goal - before @ self.weights)
        self.note(lanes, observations, terminations | truncations)

    def note(self, lanes, observations, over=False):
        self.seen[lanes] = observations
        self.over[lanes] = over


def make(batch_size):
    return batchenv.make(
        "Synthetic-v0", LANES, batch_size=batch_size, cost_us=40.0, tail_probability=1 / 16, tail_factor=25.0, seed=0
    )


def with_step(seconds, learner):
    """Every step waits for the slowest lane, and the lanes wait while the learner learns."""
    env, lanes = make(LANES), np.arange(LANES)
    learner.note(lanes, env.reset()[0])
    count, start = 0, time.perf_counter()
    while time.perf_counter() < start + seconds:
        learner.learn(lanes, *env.step(learner.act(lanes))[:4])
        count += LANES
    rate = count / (time.perf_counter() - start)
    env.close()
    return rate


def with_step_async(seconds, learner):
    """All lanes are stepped at once, but the learner learns from one step while the next one is under way."""
    env, lanes = make(LANES), np.arange(LANES)
    learner.note(lanes, env.reset()[0])
    count, last, start = 0, None, time.perf_counter()
    while time.perf_counter() < start + seconds:
        env.step_async(learner.act(lanes))
        if last is not None:
            learner.learn(lanes, *last[:4])
        last = env.step_wait()
        count += LANES
    rate = count / (time.perf_counter() - start)
    env.close()
    return rate


def with_send_and_recv(seconds, learner):
    """The learner takes the first 16 lanes that are finished and sends them off again; others are stepped meanwhile."""
    env = make(BATCH)
    learner.note(np.arange(LANES), env.reset()[0])
    env.send(learner.act(range(LANES)), np.arange(LANES))
    count, start = 0, time.perf_counter()
    while time.perf_counter() < start + seconds:
        *results, infos = env.recv()
        lanes = infos["env_id"]  # the lane of each row
        env.send(learner.act(lanes), lanes)
        learner.learn(lanes, *results)
        count += BATCH
    rate = count / (time.perf_counter() - start)
    env.close()
    return rate


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the time")
    rounds, seconds = (1, 0.5) if parser.parse_args().quick else (5, 1.0)
    loops = {"step": with_step, "step_async": with_step_async, "send/recv": with_send_and_recv}
    rates, learners = {name: [] for name in loops}, {name: Learner(4) for name in loops}
    for _ in range(rounds):  # the loops take turns, so that other programs disturb all of them alike
        for name, loop in loops.items():
            rates[name].append(loop(seconds, learners[name]))
    threads = batchenv.build_info()["max_threads"]
    print(f"{LANES} lanes, {threads} threads; values are about {0.5 / (1 - 0.98 * GAMMA):.2f}")
    for name in loops:
        ratio = np.median(np.divide(rates[name], rates["step"]))
        value = learners[name].values().mean()
        print(f"{name:10} {np.median(rates[name]):9,.0f} steps/s  {ratio:.2f} x step  learnt value {value:.2f}")


if __name__ == "__main__":
    main()
