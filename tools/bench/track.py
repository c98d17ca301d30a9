"""Whether a commit is slower than another one by more than the noise of this machine: for CI, and before a merge.

    python tools/bench/track.py [--base HEAD~1] [--commit HEAD] [--rounds 21]

Both commits are checked out and built for the Python that runs this. The base runs twice, as two programs, and the
commit once; the three take turns, a burst of calls each (bench_against.py). How far the base's two programs are
apart, though they are the same, is the noise. A case counts as slower if the commit's median ratio to the base is below
what the noise explains, and it is so again in a second run. The exit status is then 1.

SURE was set by comparing a build with itself: 87 records of 21 rounds on two virtual cores, whose speed changed by a
half from burst to burst. Each record has three programs, any of which may play the commit. With a factor of 2, 2.3% of
the comparisons called the same code slower, and with 3, 1.0%; a second run has to agree. Where times were then made
longer by 10%, 15%, 20% and 30%, a factor of 2 found it in 53%, 75%, 88% and 95% of the comparisons, and a factor of 3
in 33%, 54%, 73% and 89%.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import bench_against

ROOT = Path(__file__).resolve().parents[2]
QUICK = (
    "step CartPole-v1",
    "step Pendulum-v1 4096",
    "step FrozenLake-v1 64",
    "send and recv",
    "rollout",
    "Hopper",
    "Pong",
)
LEAST = 0.03  # a smaller loss is never called one
SURE = 2.0  # standard deviations of the median; measured, see above


def judge(base, again, commit):
    """(ratio of the base's time to the commit's, the loss that noise explains), from the rounds of all three."""
    noise = [b / a for a, b in zip(base, again, strict=True)]
    ratio = statistics.median(a / c for a, c in zip(base, commit, strict=True))
    spread = statistics.median(abs(value - 1) for value in noise)  # of single rounds: half of them are nearer to 1
    median_error = 1.4826 * spread * 1.2533 / len(noise) ** 0.5
    bias = abs(statistics.median(noise) - 1)  # two programs that are the same differ by where their memory lies
    return ratio, max(LEAST, bias + SURE * median_error)


def measure(checkouts, setup, call, arguments):
    """The rounds of the base, of the base again and of the commit."""
    base, commit = checkouts
    contenders = [
        bench_against.Contender(checkout, setup, call, arguments.least, arguments.threads)
        for checkout in (base, base, commit)
    ]
    taken = [[contender.burst() for contender in contenders] for _ in range(arguments.rounds)]
    for contender in contenders:
        contender.end()
    return list(zip(*taken, strict=True))


def checked_out(folder, commit):
    """A built checkout of a commit."""
    subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", ROOT, folder], check=True)
    subprocess.run(["git", "checkout", "-q", commit], cwd=folder, check=True)
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=folder, check=True)
    return folder


def resolve(commit):
    done = subprocess.run(
        ["git", "rev-parse", "--verify", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{commit!r} is no commit of this repository; a shallow clone may lack it: git fetch --unshallow")
    return done.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", default="HEAD~1")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--least", type=float, default=20, help="milliseconds of a burst, at least")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=QUICK, help="cases whose name has one of these in it")
    arguments = parser.parse_args()
    commits = [resolve(commit) for commit in (arguments.base, arguments.commit)]
    slower = []
    with tempfile.TemporaryDirectory() as work:
        checkouts = [
            checked_out(Path(work) / name, commit) for name, commit in zip(("base", "new"), commits, strict=True)
        ]
        print(f"{'time of the base relative to that of the commit':48s}   ratio  noise", flush=True)
        for name, (setup, call) in bench_against.cases(arguments.threads).items():
            if not any(part in name for part in arguments.only):
                continue
            for attempt in range(2):
                try:
                    rounds = measure(checkouts, setup, call, arguments)
                except RuntimeError as error:  # such as an engine that is not installed
                    print(f"{name:48s} skipped: {error}")
                    break
                ratio, allowed = judge(*rounds)
                verdict = "slower" if ratio < 1 - allowed else ""
                print(f"{name:48s} {ratio:7.3f} {allowed:6.3f} {verdict}", flush=True)
                if not verdict:
                    break
                if attempt == 1:
                    slower.append(name)
    if slower:
        sys.exit(f"slower than {arguments.base}, twice: {', '.join(slower)}")


if __name__ == "__main__":
    main()
