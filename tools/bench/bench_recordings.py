"""What recordings cost: the time of a step with and without one, bytes per step, and how fast they are replayed.

    python tools/bench/bench_recordings.py [--threads 1] [--seconds 3] [--frames 10000000] [--json FILE]

The times of a step are the least of several rounds, in which envs with and without a recording take turns. With
--frames, that many frames of Pong are recorded and replayed whole (four per step).
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import batchenv

CASES = {  # id, lanes: keywords
    ("CartPole-v1", 4096): {},
    ("CartPole-v1", 64): {},
    ("CartPole-v1", 1): {},
    ("MiniGrid-DoorKey-8x8-v0", 1024): {},
    ("HalfCheetah-v5", 64): {},
    ("Pong-v5", 64): {},
}
ROUNDS = 7


def rounds(env, actions, seconds):
    """The least seconds per step of all lanes."""
    steps = 0
    end = time.perf_counter() + seconds
    start = time.perf_counter()
    while time.perf_counter() < end:
        for action in actions:
            env.step(action)
        steps += len(actions)
    return (time.perf_counter() - start) / steps, steps


def actions_of(env, count):
    env.action_space.seed(7)
    return [env.action_space.sample() for _ in range(count)]


def case(env_id, lanes, keywords, threads, seconds, path):
    plain, recorded = (batchenv.make(env_id, lanes, num_threads=threads, **keywords) for _ in range(2))
    for env in (plain, recorded):
        env.reset(seed=0)
    actions = actions_of(plain, 64)
    times = {"plain": [], "recorded": []}
    with batchenv.record(recorded, path, overwrite=True) as recorder:
        for number in range(ROUNDS):
            for name, env in (("plain", plain), ("recorded", recorded)):
                spent, _ = rounds(env, actions, seconds / ROUNDS)
                if number:  # the first round warms up
                    times[name].append(spent)
        steps = recorder.steps
    size = os.path.getsize(path)
    with batchenv.replay(path, num_threads=threads) as recording:
        start = time.perf_counter()
        checked = recording.verify()
        spent = time.perf_counter() - start
        keys = sum(entry.block.length for entry in recording._contents.entries if entry.kind == b"KEYF")
    mean = {name: min(some) / lanes * 1e9 for name, some in times.items()}
    found = {
        "env": env_id,
        "lanes": lanes,
        "threads": threads,
        "plain_ns": mean["plain"],
        "recorded_ns": mean["recorded"],
        "ratio": mean["recorded"] / mean["plain"],
        "bytes_per_step": size / steps,
        "key_share": keys / size,
        "recorded_steps": steps,
        "replayed_per_second": checked / spent,
    }
    plain.close()
    recorded.close()
    return found


def pong(frames, threads, path):
    """Records and replays so many frames of Pong."""
    lanes = 64
    steps = -(-frames // (4 * lanes))
    env = batchenv.make("Pong-v5", lanes, num_threads=threads)
    env.reset(seed=0)
    actions = actions_of(env, 997)
    start = time.perf_counter()
    with batchenv.record(env, path, overwrite=True):
        for t in range(steps):
            env.step(actions[t % len(actions)])
    recorded = time.perf_counter() - start
    env.close()
    size = os.path.getsize(path)
    with batchenv.replay(path, num_threads=threads) as recording:
        start = time.perf_counter()
        checked = recording.verify()
        replayed = time.perf_counter() - start
        episodes = len(recording.episodes.lanes)
    return {
        "frames": 4 * checked,
        "bytes": size,
        "bytes_per_step": size / checked,
        "record_seconds": recorded,
        "replay_seconds": replayed,
        "replayed_frames_per_second": 4 * checked / replayed,
        "episodes": episodes,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--frames", type=int, default=0, help="frames of Pong to record and replay whole")
    parser.add_argument("--only", nargs="*", default=[], help="ids")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.rec")
        for (env_id, lanes), keywords in CASES.items():
            if options.only and env_id not in options.only:
                continue
            row = case(env_id, lanes, keywords, options.threads, options.seconds, path)
            print("  ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()), flush=True)
            found.append(row)
        if options.frames:
            row = pong(options.frames, options.threads, path)
            print("  ".join(f"{k}={v:.5g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()))
            found.append(row)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
