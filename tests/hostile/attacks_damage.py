"""Damaged, forged and foreign snapshots and pickles."""

import pickle
import random

import numpy as np
from harness import attack, note, rounds

import batchenv
from helpers.begun import begun
from helpers.forged import forge
from helpers.hostile import clear, future, make, same, zeros


def damaged(name, lanes=2, count=300, **options):
    """Snapshots with flipped, missing and swapped bytes are refused, and change nothing."""
    rng = random.Random(0)
    env, twin = (make(name, lanes, num_threads=1, **options) for _ in range(2))
    for one in (env, twin):
        one.reset(seed=0)
        one.step(zeros(one))
    good = bytes(env.snapshot())
    for k in rounds(count):
        data = bytearray(good)
        kind = k % 5
        if kind == 0:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[rng.randrange(len(data)) :]
        elif kind == 2:
            data += bytes(rng.randrange(1, 100))
        elif kind == 3:
            place = rng.randrange(len(data) - 8)
            data[place : place + 8] = rng.choice([b"\xff" * 8, b"\0" * 7 + b"\x80", rng.randbytes(8)])
        else:
            a, b = sorted(rng.randrange(len(data)) for _ in range(2))
            data[a:b] = data[a:b][::-1]
        if bytes(data) == good:
            continue
        note(f"damage {k}")
        clear(lambda data=data: env.restore(bytes(data)), (ValueError, TypeError))
    same(bytes(env.snapshot()), good)
    same(future(env), future(twin))


@attack()
def damaged_snapshots():
    for name in ("CartPole-v1", "FrozenLake-v1", "Blackjack-v1", "Synthetic-v0"):
        damaged(name)
    damaged("CartPole-v1", frame_stack=3, time_aware=True, record_episode_statistics=True)


attack(name="damaged_snapshots_of_hopper", needs=("mujoco",))(lambda: damaged("Hopper-v5"))
attack(name="damaged_snapshots_of_pong", needs=("ale",))(lambda: damaged("Pong-v5", count=100))


@attack()
def forged_states():
    """Numbers that no step leads to, under a right checksum: every step with them comes to an end."""
    for name in ("Acrobot-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"):
        env = begun(make(name, 9, num_threads=1))
        good = env.snapshot()
        for field in (field for field in env.state if field != "elapsed_steps"):
            for value in (1e7, -1e7, 1e18, -1e300, float("inf"), float("nan")):
                note(f"{name}: {field}={value}")
                env.restore(forge(env, **{field: value}))
                for _ in range(3):
                    env.step(zeros(env))
                env.restore(good)
        future(env, 2)


@attack()
def foreign_snapshots():
    names = ["CartPole-v1", "Acrobot-v1", "FrozenLake-v1", "CliffWalking-v1", "Synthetic-v0"]
    envs = [make(name, 2) for name in names]
    envs += [make("CartPole-v1", 2, frame_stack=2)]
    for env in envs:
        env.reset(seed=0)
    for env in envs:
        for other in envs:
            if env is not other:
                clear(lambda env=env, other=other: env.restore(other.snapshot()), ValueError)
        future(env, 2)


@attack(needs=("mujoco",))
def snapshots_of_other_models():
    a, b = begun(make("Hopper-v5", 2)), begun(make("Walker2d-v5", 2))
    clear(lambda: a.restore(b.snapshot()), ValueError)
    clear(lambda: b.restore(a.snapshot()), ValueError)


@attack()
def no_snapshots_at_all():
    env = begun(make("CartPole-v1", 2))
    for value in (b"", b"x", bytes(10**6), bytearray(40), memoryview(b"abc"), batchenv.Snapshot(b"")):
        clear(lambda value=value: env.restore(value), ValueError)
    for value in (None, 5, "text", [], object()):
        clear(lambda value=value: env.restore(value), TypeError)
    future(env)


def places(value, path=()):
    """The paths of all that is in nested dicts."""
    if not isinstance(value, dict):
        return [path]
    return [found for key, part in value.items() for found in places(part, (*path, key))]


@attack()
def damaged_pickles():
    env = begun(make("normalized CartPole-v1", 3))
    state = env.__getstate__()
    wrong = (None, -1, "x", [], {}, b"", float("nan"), 10**400, np.zeros(3), object())
    for path in places(state):
        for value in wrong:
            note(f"{path}={value!r}")
            changed = {key: dict(part) if isinstance(part, dict) else part for key, part in state.items()}
            place = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            new = object.__new__(batchenv.BatchEnv)
            try:
                new.__setstate__(changed)
                new.reset(seed=0)
                new.step(zeros(new))
            except Exception:
                pass
            del new


@attack()
def cut_pickles():
    env = begun(make("CartPole-v1", 3))
    text = pickle.dumps(env)
    for cut in range(0, len(text), max(1, len(text) // 200)):
        try:
            pickle.loads(text[:cut])
        except Exception:
            continue
        raise AssertionError(f"{cut} bytes of a pickle were taken")


@attack()
def half_made_envs():
    env = object.__new__(batchenv.BatchEnv)
    del env
    for arguments in ((), ("CartPole-v1", -1), ("Nothing-v0", 3), (None, 3), ("CartPole-v1", 2, 3)):
        try:
            batchenv.BatchEnv(*arguments)
        except Exception:
            continue
        raise AssertionError(arguments)
