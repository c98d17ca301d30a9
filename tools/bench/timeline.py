"""Draws when workers step which lanes: `step` of all lanes against `send` and `recv` of each as it gets finished.

python tools/bench/timeline.py [docs/timeline.png] [--runs 7]

The shortest of several runs of each is drawn, since other programs that use the cores make a run longer.

What is measured is when lanes get finished. With `step` a second thread watches the rows of `out` being written; with
batches of one lane it is when `recv` returns. How long a step takes is known beforehand: Synthetic-v0 sleeps for a time
that follows from the lane's random stream, which is predicted here (and compared with what the env then shows).
"""

import argparse
import sys
import threading
import time

import numpy as np

import batchenv
from internals import force_parallel

LANES, WORKERS, STEPS = 12, 4, 6
COST_MS, TAIL, FACTOR = 4.0, 1 / 10, 6.0
OPTIONS = {
    "cost_us": 1000 * COST_MS,
    "tail_probability": TAIL,
    "tail_factor": FACTOR,
    "end_probability": 0.0,
    "wait": True,
    "max_episode_steps": None,
    "num_threads": WORKERS,
}


class Foretold:
    """What the env's streams hold for each lane: the number that a step shows, and how long it takes."""

    def __init__(self, env):
        self.streams = env.np_random

    def next(self, lane):
        number, tail, _ = self.streams[lane].random(3)
        return number, COST_MS * (FACTOR if tail < TAIL else 1)


def sync_run():
    """[(lane, start, end)] in ms, and when each step returned."""
    env = batchenv.make("Synthetic-v0", LANES, **OPTIONS)
    env.reset(seed=4)
    force_parallel(env)  # not to wait for the measurements on which it is chosen
    out = (np.zeros((LANES, 3)), np.zeros(LANES), np.zeros(LANES, bool), np.zeros(LANES, bool))
    actions = np.zeros(LANES, np.int64)
    env.step(actions, out=out)  # starts the workers
    foretold = Foretold(env)
    spans, returned, running = [], [], True
    expected = [foretold.next(lane) for lane in range(LANES)]  # of the step that is being taken
    ended = np.zeros((LANES, STEPS))

    def watch():
        seen = np.ones(LANES, int)
        while running:
            now, steps = time.perf_counter(), out[0][:, 0].astype(int)
            for lane in np.flatnonzero(steps != seen):
                ended[lane, steps[lane] - 2] = now
            seen = steps
            time.sleep(5e-5)

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    for t in range(STEPS):
        env.step(actions, out=out)
        returned.append(time.perf_counter())
        time.sleep(1e-3)  # for the watcher to see the last rows, which end here at the latest
        for lane, (number, cost) in enumerate(expected):
            assert out[0][lane, 1] == number, "the env did not do what was foretold"
            end = 1000 * (min(ended[lane, t] or np.inf, returned[-1]) - start)
            spans.append((lane, end - cost, end))
        expected = [foretold.next(lane) for lane in range(LANES)]
    running = False
    watcher.join()
    env.close()
    return spans, [1000 * (moment - start) for moment in returned]


def async_run():
    """The same number of steps, each lane sent back as soon as it comes."""
    env = batchenv.make("Synthetic-v0", LANES, batch_size=1, **OPTIONS)
    env.reset(seed=4)
    action = np.zeros(1, np.int64)
    env.send(np.zeros(LANES, np.int64), np.arange(LANES))
    for _ in range(LANES):
        env.recv()
    foretold = Foretold(env)
    spans = []
    start = time.perf_counter()
    env.send(np.zeros(LANES, np.int64), np.arange(LANES))
    for t in range(STEPS * LANES):
        observations, *_, infos = env.recv()
        now = 1000 * (time.perf_counter() - start)
        lane = int(infos["env_id"][0])
        if t < (STEPS - 1) * LANES:  # the last ones are let run out
            env.send(action, infos["env_id"])
        number, cost = foretold.next(lane)
        assert observations[0, 1] == number, "the env did not do what was foretold"
        spans.append((lane, now - cost, now))
    env.close()
    return spans


def by_worker(spans):
    """Rows of bars that do not overlap: a worker is at one lane at a time. [(row, lane, start, end)]."""
    free, bars = [-np.inf] * WORKERS, []
    for lane, start, end in sorted(spans, key=lambda span: span[1]):
        row = min(range(WORKERS), key=lambda i: (free[i] > start + 0.5, -free[i]))
        bars.append((row, lane, start, end))
        free[row] = end
    return bars


def busy(spans, until):
    return sum(end - start for _, start, end in spans) / (WORKERS * until)


def last(spans):
    return max(end for *_, end in spans)


def draw(runs, path):
    try:
        import matplotlib
    except ImportError:
        sys.exit("needs matplotlib: pip install matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(len(runs), 1, figsize=(10, 5), sharex=True, layout="constrained")
    for panel, (title, spans, marks) in zip(panels, runs, strict=True):
        for row, lane, start, end in by_worker(spans):
            slow = end - start > 2 * COST_MS
            panel.barh(row, end - start, left=start, height=0.8, color="#d95f02" if slow else "#7fb2d9", ec="white")
            panel.text((start + end) / 2, row, lane, ha="center", va="center", fontsize=7)
        for mark in marks:
            panel.axvline(mark, color="black", lw=1)
        panel.set_title(title, loc="left", fontsize=10)
        panel.set_yticks(range(WORKERS), [f"worker {i + 1}" for i in range(WORKERS)])
        panel.invert_yaxis()
        panel.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("ms")
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", default="docs/timeline.png", help="default %(default)s")
    parser.add_argument("--runs", type=int, default=7, help="default %(default)s")
    options = parser.parse_args()
    sync, returned = min((sync_run() for _ in range(options.runs)), key=lambda run: run[1][-1])
    free = min((async_run() for _ in range(options.runs)), key=last)
    end, free_end = returned[-1], last(free)
    count = STEPS * LANES
    titles = [
        f"step: {count} lanes' steps in {end:.0f} ms, workers busy {busy(sync, end):.0%} (lines: a step returns)",
        f"send/recv: as many in {free_end:.0f} ms, workers busy {busy(free, free_end):.0%}",
    ]
    print("\n".join(titles))
    draw([(titles[0], sync, returned), (titles[1], free, [])], options.path)


if __name__ == "__main__":
    main()
