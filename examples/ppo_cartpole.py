"""PPO on CartPole-v1, with PyTorch: pip install -e ".[examples]".

python examples/ppo_cartpole.py [--save FILE] [--resume FILE] [--eval EPISODES] [--video DIR]

Trains until the episodes that ended since the last update have a mean return of 475, Gymnasium's threshold, and so have
new episodes with greedy actions. Exits with status 1 if --steps are not enough.
"""

import sys

import ppo
import torch


def main() -> int:
    parser = ppo.argument_parser(
        __doc__.split(":")[0], steps=10_000_000, lanes=1024, rollout=64, minibatch=4096, learning_rate=2e-3,
        anneal_from=1.0,
    )  # fmt: skip
    parser.add_argument("--target", type=float, default=475.0, help="mean return at which to stop")
    parser.add_argument("--min-episodes", type=ppo.positive, default=100, help="least episodes in such a mean")
    args = parser.parse_args()
    if args.lanes * args.rollout < 500 * args.min_episodes:
        parser.error("--lanes times --rollout must be at least 500 times --min-episodes, so that so many episodes end")

    torch.manual_seed(args.seed)
    torch.set_num_threads(args.torch_threads)
    watch = ppo.Stopwatch()
    task = ppo.Task("CartPole-v1")
    env, saved = ppo.prepare(args, task)
    inputs, choices = env.single_observation_space.shape[0], int(env.single_action_space.n)
    agent = ppo.Discrete(ppo.mlp(inputs, choices, 0.01), ppo.mlp(inputs, 1, 1.0))
    training = ppo.Training(env, agent, args, saved)

    def is_solved(progress: ppo.Progress, mean: float) -> bool:
        if len(progress.returns) < args.min_episodes or mean < args.target:
            return False
        greedy = ppo.evaluate(task.make(64), agent, args.seed + ppo.EVALUATION_SEED, greedy=True).mean()
        print(f"greedy evaluation: {greedy:.1f}")
        return bool(greedy >= args.target)

    solved = ppo.train_to_the_end(training, task, watch, every=1, stop=is_solved)
    print("solved" if solved else "not solved")
    ppo.show(task, env, agent, args)
    env.close()
    return 0 if solved else 1


if __name__ == "__main__":
    sys.exit(main())
