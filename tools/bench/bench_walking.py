"""A robot that learns to walk: the ready task in C against the same task in NumPy over a batch of simulations.

    python tools/bench/bench_walking.py --check
    python tools/bench/bench_walking.py [--parts stepping learning training] [--lanes 64 1024 4096] [--threads 1 2]

The task is Go1JoystickFlatTerrain-v0, and walking_numpy.py over mjbatch, or over MuJoCo 4's batch where that is
installed. Contenders take turns; printed are medians. In `stepping`, actions are small and random, episodes end and
begin, and `physics alone` is the batch without a task; costs are processor times with one thread, and wall times with
several. `learning` is whole iterations of examples/ppo.py with the settings of examples/ppo_go1.py, and
`training` whole runs of it. --check compares
what both make of the same states.
"""

import argparse
import itertools
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import walking_numpy
from bench_mujoco import CYCLE, batches, ratios, slices
from walking_numpy import Walking

import batchenv
from batchenv.envs.mujoco import library
from internals import force_parallel

ID = "Go1JoystickFlatTerrain-v0"


def ready(lanes, threads, **keywords):
    keywords = {"autoreset_mode": "NextStep", "record_episode_statistics": True, "clip_actions": True, **keywords}
    env = batchenv.make(ID, lanes, num_threads=threads, **keywords)
    env.reset(seed=0)
    if threads > 1:
        force_parallel(env)
    return env


def in_numpy(lanes, threads, **keywords):
    model = ready(1, 1).get_attr("model")[0]
    return Walking(batches().Batch(model, lanes, threads), lanes, **keywords)


# ---- whether both are the same task ---------------------------------------------------------------------

# What a task remembers: the names of the ready task's fields and of NumPy's arrays.
STATE = {"last_act": "action", "command": "command", "steps_until_next_cmd": "until", "feet_air_time": "air"}
STATE |= {"swing_peak": "peak", "last_contact": "contact", "push": "push", "elapsed_steps": "elapsed"}


def copy_state(env, walking):
    """Puts NumPy's lanes where the ready task's are."""
    lib = library.load()[0]
    for row, data, model in zip(walking.rows, env.get_attr("data"), env.get_attr("model"), strict=True):
        lib.mj_getState(model, data, row, int(lib.mjtState.mjSTATE_INTEGRATION))
    state = env.state
    for ours, theirs in STATE.items():
        getattr(walking, theirs)[:] = state[ours]


def require_close(what, ours, theirs):
    np.testing.assert_allclose(theirs, ours, rtol=2e-6, atol=2e-6, err_msg=what)


def check_states(lanes, steps, pushes):
    """Compares each step from the same state: observations without noise, rewards and their parts, ends of episodes,
    and what the tasks remember, but for what is drawn."""
    env = ready(lanes, 2, noise_level=0.0, pert_enable=pushes, reward_scale=50.0)
    walking = in_numpy(lanes, 2, noise=False, pushes=pushes, reward_scale=50.0)
    rng, warmstart = np.random.default_rng(0), walking.batch.bind("qacc_warmstart")
    trunk = walking.batch.model.body("trunk").id
    seen, _ = env.reset(seed=1)
    again, _ = walking.reset(seed=1)
    env.set_state({"elapsed_steps": rng.integers(walking_numpy.LIMIT - steps, walking_numpy.LIMIT, lanes)})
    started, ended, counts = np.ones(lanes, bool), np.zeros(lanes, bool), np.zeros(3, int)
    for _ in range(steps):
        copy_state(env, walking)
        warmstart[started] = 0  # as where an episode starts
        walking.batch.forward(np.flatnonzero(started))
        walking.observe(again, np.flatnonzero(started))
        for name in seen:
            require_close(name, seen[name], again[name])
        copy_state(env, walking)
        walking.over[:], started = ended, ended
        ran, kept, acts = ~started, ~started & (walking.until > 1), walking.since >= walking.wait
        # Actions grow along the lanes: some robots stand, others fall.
        actions = (np.linspace(0, 2, lanes)[:, None] * rng.uniform(-1, 1, (lanes, 12))).astype(np.float32)
        seen, rewards, *ends, infos = env.step(actions)
        again, their_rewards, *their_ends, their_infos = walking.step(actions)
        require_close("rewards", rewards, their_rewards)
        np.testing.assert_array_equal(their_ends, ends)
        ended = np.logical_or(*ends)
        if ended.any():
            np.testing.assert_array_equal(their_infos["_episode"], infos["_episode"])
            require_close("returns", *(known["episode"]["r"][ended] for known in (infos, their_infos)))
        for name, part in zip(walking_numpy.REWARDS, walking_numpy.WEIGHTS[:, None] * walking.terms, strict=True):
            require_close(name, infos["reward"][name][ran], part[ran])
        state = env.state
        for ours, theirs in STATE.items():
            rows = kept if ours in ("command", "steps_until_next_cmd") else ran
            drawn = 2 if ours == "push" else 0  # the last numbers
            values = (values[rows] for values in (state[ours], getattr(walking, theirs)))
            require_close(ours, *(value[:, : value.shape[1] - drawn] if drawn else value for value in values))
        require_close("force", state["xfrc_applied"][ran, trunk, :3], walking.force[ran])
        counts += *map(np.sum, ends), np.sum(acts & ran)
    assert all(counts[: 2 + pushes]), counts
    print(f"{lanes * steps:,} states, {counts[0]} falls, {counts[1]} time limits, {counts[2]} steps of pushes: equal")


def remembered(contender):
    """The numbers of the tasks' state, of both in the same order."""
    ours = not isinstance(contender, Walking)
    parts = [contender.state[name] if ours else getattr(contender, STATE[name]) for name in STATE]
    return np.column_stack(parts)


def check_draws(lanes):
    """Compares what is drawn: means and mean squares over many lanes of what is observed, with noise, and remembered,
    where episodes start and 15 steps later, when each robot has had a new command and a push."""
    contenders = ready(lanes, 2, pert_enable=True), in_numpy(lanes, 2, pushes=True)
    pairs = []
    for seed, contender in enumerate(contenders):
        first, _ = contender.reset(seed=seed)
        numbers = [first["state"], first["privileged_state"], remembered(contender)]
        if contender is contenders[0]:
            push = contender.state["push"].copy()
            push[:, 0] = 3
            contender.set_state({"steps_until_next_cmd": 1, "push": push})
        else:
            contender.until[:], contender.wait[:] = 1, 3
        for _ in range(15):
            later = contender.step(np.zeros((lanes, 12), np.float32))[0]
        pairs.append([*numbers, later["state"], later["privileged_state"], remembered(contender)])
    for ours, theirs in zip(*pairs, strict=True):
        for power in (1, 2):
            a, b = (rows.astype(float) ** power for rows in (ours, theirs))
            error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / lanes)
            far = np.abs(a.mean(axis=0) - b.mean(axis=0)) > 5 * error + 1e-6
            assert not far.any(), f"columns {np.flatnonzero(far)} differ in their mean {('', 'square')[power - 1]}"
    print(f"what {lanes:,} lanes draw: equally distributed")


# ---- stepping -------------------------------------------------------------------------------------------


class Stepping:
    def __init__(self, env, lanes):
        rng, self.env = np.random.default_rng(1), env
        self.actions = [rng.normal(0, 0.3, (lanes, 12)).astype(np.float32) for _ in range(CYCLE)]

    def run(self, steps):
        for t in range(steps):
            self.env.step(self.actions[t % CYCLE])


class Physics(Stepping):
    """The batch that the task is around, with its controls and nothing else."""

    def run(self, steps):
        for t in range(steps):
            self.env.ctrl[:] = self.env.pose + walking_numpy.ACTION_SCALE * self.actions[t % CYCLE]
            self.env.batch.step(nstep=walking_numpy.SKIP)


def stepping(options):
    name = batches().__name__
    print(f"| lanes | threads | C, steps/s | NumPy over {name} | C is faster by | {name}, physics alone | ... by |")
    print("|---|---|---|---|---|---|---|")
    for lanes, threads in itertools.product(options.lanes, options.threads):
        clock = time.process_time if threads == 1 else time.perf_counter
        envs = {"ours": ready(lanes, threads), "numpy": in_numpy(lanes, threads), "physics": in_numpy(lanes, threads)}
        for env in envs.values():
            env.reset(seed=0)
        contenders = {key: (Physics if key == "physics" else Stepping)(env, lanes) for key, env in envs.items()}
        for contender in contenders.values():
            contender.run(options.warm)
        found, cost = ratios(contenders, slices(contenders, options.seconds), options.rounds, clock, threads)
        cells = [f"{lanes / cost / ratio:,.0f} | {ratio:.2f}" for ratio in (found["numpy"], found["physics"])]
        print(f"| {lanes:,} | {threads} | {lanes / cost:,.0f} | {' | '.join(cells)} |", flush=True)


# ---- learning -------------------------------------------------------------------------------------------


MAKERS = {"C": ready, "NumPy": in_numpy}


def runs_of(options):
    """The settings of ppo_go1.py; and for each contender a run of it, and its stopwatch."""
    import ppo
    import ppo_go1
    import torch

    settings = ppo_go1.options().parse_args([])
    torch.set_num_threads(options.torch_threads)
    runs, watches = {}, {}
    for name in options.only:
        env = MAKERS[name](options.learning_lanes, max(options.threads), reward_scale=50.0)
        torch.manual_seed(settings.seed)
        sizes = {key: space.shape[0] for key, space in env.single_observation_space.items()}
        watches[name] = ppo.Stopwatch()
        runs[name] = ppo.Training(env, ppo_go1.Walker(sizes, 12, settings), settings, None).updates(watches[name])
    return settings, runs, watches


def learning(options):
    settings, runs, watches = runs_of(options)
    lanes, threads, envs = options.learning_lanes, max(options.threads), list(runs)
    seconds, returns = {name: [] for name in envs}, {name: [] for name in envs}
    for iteration in range(options.iterations + 1):
        for name in envs[:: 1 if iteration % 2 else -1]:
            watch = watches[name]
            watch.parts.clear()
            with watch("all"):
                progress = next(runs[name])
            seconds[name].append([watch.parts[part] for part in ("all", "acting", "stepping", "learning")])
            returns[name].append(progress.returns)
    print(f"| {lanes:,} lanes, {threads} threads | iterations/s | steps/s | acting, s | stepping, s | learning, s | "
          "return at the end |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for name in envs:
        (wall, _), *parts = np.median(seconds[name][1:], axis=0)
        last = np.concatenate(returns[name][-len(returns[name]) // 8 :])
        cells = [f"{part[0]:.3f} ({part[1]:.3f})" for part in parts]
        cells = [f"{1 / wall:.3f}", f"{settings.rollout * lanes / wall:,.0f}", *cells]
        print(f"| {name} | {' | '.join(cells)} | {last.mean() if len(last) else np.nan:.2f} |")
    if len(envs) < 2:
        return
    ratio = np.median(np.divide(*(np.array(seconds[name][1:])[:, 0] for name in ("NumPy", "C"))), axis=0)
    print(f"\nSeconds of wall time, and of all processors. NumPy's iterations take {ratio[0]:.2f} times as long, and "
          f"{ratio[1]:.2f} times the processor time.")  # fmt: skip


def training(options):
    """Whole runs, one after the other, until the episodes of 16 updates have a mean return of --target."""
    _, runs, watches = runs_of(options)
    print(f"| {options.learning_lanes:,} lanes | steps to a return of {options.target:g} | seconds | of processors | "
          "of stepping | of learning |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for name, run in runs.items():
        watch, recent = watches[name], []
        watch.parts.clear()
        with watch("all"):
            for progress in run:
                recent = [*recent[-15:], progress.returns]
                if len(recent) == 16 and np.concatenate(recent).mean() >= options.target:
                    break
        whole, stepped, learnt = (watch.parts[part] for part in ("all", "stepping", "learning"))
        print(f"| {name} | {progress.steps:,} | {whole[0]:.0f} | {whole[1]:.0f} | {stepped[1]:.0f} | {learnt[1]:.0f} |",
              flush=True)  # fmt: skip


PARTS = {"stepping": stepping, "learning": learning, "training": training}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=["stepping", "learning"])
    parser.add_argument("--lanes", nargs="*", type=int, default=[64, 1024, 4096])
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a contender's turn")
    parser.add_argument("--warm", type=int, default=50, help="steps before the first turn")
    parser.add_argument("--learning-lanes", type=int, default=1024)
    parser.add_argument("--iterations", type=int, default=20, help="of each learner, after the first one")
    parser.add_argument("--torch-threads", type=int, default=1)
    parser.add_argument("--target", type=float, default=20.0, help="of `training`: the mean return to be reached")
    parser.add_argument("--only", nargs="+", choices=MAKERS, default=list(MAKERS), help="of learning and training")
    options = parser.parse_args()
    print(f"mujoco {library.load()[0].__version__}, {batches().__name__}\n")
    if options.check:
        for pushes in (False, True):
            check_states(64, 150, pushes)
        check_draws(4096)
        return
    for name in options.parts:
        PARTS[name](options)
        print()


if __name__ == "__main__":
    main()
