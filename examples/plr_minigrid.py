"""Prioritised level replay on MiniGrid against levels drawn uniformly, with PyTorch: pip install -e ".[examples]".

python examples/plr_minigrid.py [--quick] [--id ID] [--levels N] [--runs N] [--eval N] [--save FILE]

Trains PPO twice on the same training levels, as in "Prioritized Level Replay" (Jiang, Grefenstette, Rocktäschel, 2021):
once drawn uniformly, and once more often where the agent has more to learn, which the mean size of an episode's
advantages tells. Then both play levels that neither has seen. A plan (`env.plan`) draws each lane's next level by
weights that are set after each rollout. --eval N says how many new levels there are, and --save FILE keeps the last
agent.
"""

import argparse
import sys

import numpy as np
import ppo
import ppo_minigrid
import torch

UNSEEN = 10_000_000  # the first seed of levels that are not for training


class Levels:
    """How often levels are drawn: seen ones by rank of their scores and by how long ago they were played; the others
    alike.

    Args:
        count: of training levels.
        temperature, staleness, fresh: the paper's beta, rho, and the share of levels that have not been seen yet. The
            paper's beta of 0.1 is for levels whose scores are known after each episode; here hundreds of lanes draw
            before they change, which would then nearly all play one level.
    """

    def __init__(self, count: int, temperature: float = 2.0, staleness: float = 0.3, fresh: float = 0.5):
        self.scores, self.played, self.now = np.full(count, np.nan), np.zeros(count, np.int64), 0
        self.temperature, self.staleness, self.fresh = temperature, staleness, fresh

    def note(self, levels: np.ndarray, scores: np.ndarray) -> None:
        for level, score in zip(levels.tolist(), scores.tolist(), strict=True):
            self.now += 1
            self.scores[level], self.played[level] = score, self.now

    def weights(self) -> np.ndarray:
        seen = np.flatnonzero(~np.isnan(self.scores))
        weights = np.zeros(len(self.scores))
        if len(seen):
            ranks = np.empty(len(seen))
            ranks[np.argsort(-self.scores[seen], kind="stable")] = np.arange(1, len(seen) + 1)
            high, old = ranks ** (-1 / self.temperature), self.now - self.played[seen] + 1.0
            weights[seen] = (1 - self.staleness) * high / high.sum() + self.staleness * old / old.sum()
        others = np.isnan(self.scores)
        if others.any():
            weights *= 1 - self.fresh
            weights[others] = (self.fresh if len(seen) else 1) / others.sum()
        return weights


class Training(ppo.Training):
    """PPO on the levels of a plan.

    levels: says how often each is drawn; None: all are alike.
    """

    def __init__(self, env, agent, args: argparse.Namespace, levels: Levels | None):
        self.plan, self.levels = env.plan(seeds=range(args.levels), order="sampled", seed=args.seed), levels
        super().__init__(env, agent, args, None)
        self.observations, _ = env.reset()  # levels of the plan, too
        self.entries = np.full((args.rollout, env.num_envs), -1)
        self.sums, self.counts = np.zeros((2, env.num_envs))  # of the present episodes

    def see(self, step: int, infos: dict) -> None:
        self.entries[step] = infos["episode"]["entry"] if "episode" in infos else -1

    def judge(self, advantages: torch.Tensor, is_reset: np.ndarray) -> None:
        if self.levels is None:
            return
        for size, resets, entries in zip(advantages.abs().numpy(), is_reset[:-1], self.entries, strict=True):
            self.sums += np.where(resets, 0, size)
            self.counts += ~resets
            ended = np.flatnonzero(entries >= 0)
            self.levels.note(entries[ended], self.sums[ended] / self.counts[ended])
            self.sums[ended] = self.counts[ended] = 0
        self.plan.weights = self.levels.weights()


def run(args: argparse.Namespace, task: ppo.Task, prioritised: bool) -> float:
    """Trains once, and returns the share of new levels that the agent then solves, with actions drawn."""
    torch.manual_seed(args.seed)
    watch, env = ppo.Stopwatch(), task.make(args.lanes)
    agent = ppo_minigrid.make_agent(env)
    training = Training(env, agent, args, Levels(args.levels) if prioritised else None)
    print(f"levels {'by what there is to learn' if prioritised else 'drawn uniformly'}, seed {args.seed}:")
    ppo.train_to_the_end(training, task, watch, every=max(1, args.steps // (args.rollout * args.lanes) // 10))
    env.close()
    fresh = task.make(args.eval)
    solved = float((ppo.evaluate(fresh, agent, UNSEEN, greedy=False) > 0).mean())
    fresh.close()
    print(f"solves {solved:.1%} of {args.eval} new levels")
    return solved


def main() -> int:
    parser = ppo.argument_parser(
        __doc__.split(":")[0], quick={"steps": 32_768, "lanes": 64, "rollout": 32, "minibatch": 512},
        steps=1_500_000, lanes=256, rollout=64, minibatch=2048, epochs=3, learning_rate=1e-3,
    )  # fmt: skip
    parser.add_argument("--id", default="MiniGrid-FourRooms-v0", help="see python -m batchenv list MiniGrid")
    parser.add_argument("--levels", type=ppo.positive, default=500, help="how many there are for training")
    parser.add_argument("--runs", type=ppo.positive, help="of each kind; 2, or 1 with --quick")
    parser.set_defaults(eval=512)
    args = parser.parse_args()
    if args.resume or args.video:
        parser.error("--resume and --video are for the other examples: each run here begins anew")
    args.runs = args.runs or (1 if args.quick else 2)
    torch.set_num_threads(args.torch_threads)
    task = ppo.Task(args.id, mission="tokens")
    solved: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(args.runs):
        for prioritised, found in solved.items():
            found.append(run(args, task, prioritised))
        args.seed += 1
    uniform, replayed = np.mean(solved[False]), np.mean(solved[True])
    print(f"new levels solved: {uniform:.1%} drawn uniformly, {replayed:.1%} with prioritised replay")
    return 0


if __name__ == "__main__":
    sys.exit(main())
