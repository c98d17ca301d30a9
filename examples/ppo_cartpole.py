"""PPO on CartPole-v1, with PyTorch: pip install -e ".[examples]".

python examples/ppo_cartpole.py [--quick] [--save FILE] [--resume FILE] [--eval EPISODES] [--video DIR]

Trains until the last episodes, 100 or more, have a mean return of 475, Gymnasium's threshold, and so have new episodes
with greedy actions. Exits with status 1 if --steps are not enough.
"""

import sys

import ppo


def main() -> int:
    parser = ppo.argument_parser(
        __doc__.split(":")[0], quick={"steps": 131_072, "lanes": 256, "minibatch": 1024}, target=475.0,
        steps=10_000_000, lanes=1024, rollout=64, minibatch=4096, learning_rate=2e-3, anneal_from=1.0,
    )  # fmt: skip
    args = parser.parse_args()
    return ppo.solve(args, ppo.Task("CartPole-v1"))


if __name__ == "__main__":
    sys.exit(main())
