"""PPO on CartPole-v1, with PyTorch: pip install "batchenv[examples]".

Trains until the episodes that finished since the latest update return 475 on average, Gymnasium's threshold, and greedy
actions on fresh episodes do as well. Exits with status 1 if --steps are not enough.
"""

import sys

import numpy as np
import ppo
import torch

import batchenv

ENV_ID = "CartPole-v1"
EVALUATION_SEED = 1_000_000  # away from the training lanes' seeds


@torch.inference_mode()
def evaluate(policy: torch.nn.Module, seed: int, lanes: int = 64) -> float:
    """Mean return of greedy actions, over the first episode of each lane."""
    env = batchenv.make(ENV_ID, num_envs=lanes)
    observations, _ = env.reset(seed=seed)
    returns, running = np.zeros(lanes), np.ones(lanes, dtype=bool)
    while running.any():
        actions = policy(torch.from_numpy(observations)).argmax(dim=1).numpy()
        observations, rewards, terminations, truncations, _ = env.step(actions)
        returns += rewards * running
        running &= ~(terminations | truncations)
    env.close()
    return float(returns.mean())


def main() -> int:
    parser = ppo.argument_parser(
        __doc__.split(":")[0], steps=10_000_000, lanes=1024, rollout=64, minibatch=4096, learning_rate=2e-3,
        anneal_from=1.0,
    )  # fmt: skip
    parser.add_argument("--target", type=float, default=475.0, help="mean return at which to stop")
    parser.add_argument("--min-episodes", type=ppo.positive, default=100, help="fewest episodes of such a mean")
    args = parser.parse_args()
    if args.lanes * args.rollout < 500 * args.min_episodes:
        parser.error("--lanes times --rollout must be at least 500 times --min-episodes, to finish so many")

    torch.manual_seed(args.seed)
    torch.set_num_threads(args.torch_threads)
    watch = ppo.Stopwatch()
    env = ppo.make(ENV_ID, args.lanes)
    inputs, choices = env.single_observation_space.shape[0], int(env.single_action_space.n)
    agent = ppo.Discrete(ppo.mlp(inputs, choices, 0.01), ppo.mlp(inputs, 1, 1.0))

    table, solved = ppo.Table(1, watch), False
    for progress in ppo.train(env, agent, args, watch):
        mean = table.add(progress)
        if len(progress.returns) >= args.min_episodes and mean >= args.target:
            greedy = evaluate(agent.actor, args.seed + EVALUATION_SEED)
            print(f"greedy evaluation: {greedy:.1f}")
            solved = greedy >= args.target
            if solved:
                break
    env.close()
    print("solved" if solved else "not solved")
    watch.report(progress.steps)
    return 0 if solved else 1


if __name__ == "__main__":
    sys.exit(main())
