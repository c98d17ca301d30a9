"""Where the time of MuJoCo's lanes goes: by stage of csrc/engines/physics, and how well lanes fill their vectors.

    python tools/bench/profile_mujoco.py [--tasks Ant FetchPush-v4] [--lanes 64] [--seconds 6] [--isa NAME]

One thread, random actions, no ends of episodes where a task has a switch for that. Needs Linux's `perf`, which counts
samples of processor cycles. The first table has nanoseconds per lane and evaluation of accelerations, of which mj_step
makes one with Euler's integrator and four with Runge-Kutta's. The second one is about lanes that are in a group: the
mean of a lane divided by the mean of the group's largest, for rows of constraints and for iterations of the solver, as
they are in the last evaluation of a step; `sorted`: with lanes in the order of their rows one step before, much as they
are put into groups (by their rows in all evaluations of that step).
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

import batchenv
from batchenv import _core

TASKS = [
    *("Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum", "InvertedPendulum"),
    *("Pusher", "Reacher", "Swimmer", "Walker2d"),
]
ENDLESS = ("Ant", "Hopper", "Humanoid", "Walker2d")  # that take terminate_when_unhealthy
# Which functions belong to which column; what the compiler has inlined counts for the function that it is in.
STAGES = {
    "positions": r"be_physics_(kinematics|com_pos|tendon)",
    "inertia": r"be_physics_(inertia|factor)",
    "velocities": r"be_physics_(com_vel|rne|passive)",
    "forces": r"be_physics_(actuation|acceleration|solve)",
    "integration": r"be_physics_integrate|sum_of|drop_bad",
    "sensors": r"be_physics_(sensors|touch|subtree_vel|body_forces)",
    "contacts": r"be_physics_(near|collide|look)",
    "rows": r"be_physics_(make_constraint|constrain_lanes|post_constraint)",
    "line search": r"be_physics_search_line|evaluate\b|narrow",
    "solver": r"be_physics_(newton|mul_m|pgs)|iterate|solve|make_hessian|update_|warmstart|start|visit|sweep|project"
    r"|multiply_row|complete|finish|gauss|find_gradient|decrement|gradient_of|set_search|lay_out|focus",
}


def make(task, lanes):
    limit = {"terminate_when_unhealthy": False} if task in ENDLESS else {}
    env_id = task if "-" in task else f"{task}-v5"
    env = batchenv.make(env_id, lanes, num_threads=1, max_episode_steps=None, **limit)
    env.reset(seed=0)
    env.action_space.seed(0)
    return env


def run(task, lanes, seconds, control):
    """Steps for so many seconds, and prints processor nanoseconds per lane and evaluation, from the last half.

    control: a pipe to perf, which counts from `enable` to `disable`.
    """
    env, taken = make(task, lanes), []
    actions = [env.action_space.sample() for _ in range(32)]
    with open(control, "w", buffering=1) as pipe:
        pipe.write("enable\n")
        begin = time.perf_counter()
        while time.perf_counter() < begin + seconds:
            before = time.process_time()
            env.step(actions[len(taken) % 32])
            taken.append(time.process_time() - before)
        pipe.write("disable\n")
    model = env.get_attr("model")[0]
    evaluations = round(env.get_attr("dt")[0] / model.opt.timestep) * (4 if model.opt.integrator == 1 else 1)
    print(np.median(taken[len(taken) // 2 :]) / lanes / evaluations * 1e9)


def shares(task, args):
    """Nanoseconds per lane and evaluation, and the share of each column and of all the rest."""
    with tempfile.TemporaryDirectory() as folder:
        data, control = os.path.join(folder, "data"), os.path.join(folder, "control")
        os.mkfifo(control)
        program = [sys.executable, __file__, "--lanes", str(args.lanes), "--seconds", str(args.seconds)]
        record = ["perf", "record", "-q", "-o", data, "-e", "cycles:u", "--delay=-1", f"--control=fifo:{control}"]
        done = subprocess.run([*record, *program, "--run", task, control], capture_output=True, text=True, check=True)
        report = ["perf", "report", "-i", data, "--stdio", "-F", "overhead,dso,sym"]
        lines = subprocess.run(report, capture_output=True, text=True, check=True).stdout
    found = dict.fromkeys([*STAGES, "MuJoCo", "the rest"], 0.0)
    for percent, library, function in re.findall(r"^ +([\d.]+)% +(\S+) +\[.\] (\S+)", lines, re.MULTILINE):
        stages = [name for name, pattern in STAGES.items() if re.match(pattern, function)]
        other = "MuJoCo" if library.startswith("libmujoco") else "the rest"
        found[stages[0] if stages and library.startswith("_core") else other] += float(percent)
    total = sum(found.values())
    return float(done.stdout.split()[-1]), {name: share / total for name, share in found.items()}


def efficiency(task, lanes, width, steps=150):
    """Means of lanes divided by means of the largest of their groups: rows, iterations, unsorted and sorted."""
    env = make(task, lanes)
    before, sums = np.zeros(lanes), np.zeros((4, 2))
    for step in range(steps):
        env.step(env.action_space.sample())
        if step < steps - 30:
            continue
        datas = env.get_attr("data")
        rows = np.array([data.nefc for data in datas], float)
        iterations = np.array([data.solver_niter.sum() for data in datas], float)
        for k, order in enumerate((np.arange(lanes), np.argsort(before, kind="stable"))):
            for j, values in enumerate((rows, iterations)):
                groups = values[order].reshape(-1, width)
                sums[2 * k + j] += groups.mean(), groups.max(1).mean()
        before = rows
    return [f"{one / most:.0%}" if most else "" for one, most in sums]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*", default=TASKS, help="Gymnasium's, or ids of others over MuJoCo")
    parser.add_argument("--lanes", type=int, default=64, help="a multiple of 8")
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--isa", choices=_core.supported_isas())
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.isa:
        os.environ["BATCHENV_ISA"] = args.isa
    if args.run:
        return run(args.run[0], args.lanes, args.seconds, args.run[1])
    print(f"{args.lanes} lanes, {_core.chosen_isa()}\n\n| task | ns | {' | '.join([*STAGES, 'MuJoCo', 'the rest'])} |")
    print(f"|---|{'---:|' * (len(STAGES) + 3)}")
    for task in args.tasks:
        total, found = shares(task, args)
        print(f"| {task} | {total:.0f} | {' | '.join(f'{total * x:.0f}' for x in found.values())} |", flush=True)
    print("\n| task | rows | iterations | rows, sorted | iterations, sorted |\n|---|---:|---:|---:|---:|")
    for task in args.tasks:
        print(f"| {task} | {' | '.join(efficiency(task, args.lanes, 8))} |", flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
