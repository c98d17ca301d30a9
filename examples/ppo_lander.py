"""PPO on LunarLander-v3, with PyTorch: pip install -e ".[examples]".

python examples/ppo_lander.py [--quick] [--save FILE] [--resume FILE] [--eval EPISODES] [--video DIR]

Trains until the last 100 episodes have a mean return of 200, Gymnasium's threshold, and so have new episodes with
greedy actions. Exits with status 1 if --steps are not enough.
"""

import sys

import ppo


def main() -> int:
    parser = ppo.argument_parser(
        __doc__.split(":")[0], quick={"steps": 65_536}, target=200.0, steps=3_000_000, lanes=64, rollout=128,
        minibatch=512, epochs=6, learning_rate=1e-3, gamma=0.995,
    )  # fmt: skip
    parser.add_argument("--reward-scale", type=float, default=0.05, help="keeps values small enough to be learnt")
    args = parser.parse_args()
    return ppo.solve(args, ppo.Task("LunarLander-v3", reward_scale=args.reward_scale))


if __name__ == "__main__":
    sys.exit(main())
