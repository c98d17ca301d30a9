"""PPO on Playground's Go1 that follows commands: pip install -e ".[examples,mujoco]"; see docs/robots.md for the model.

python examples/ppo_go1.py [--quick] [--id ID] [--steps STEPS] [--save FILE] [--resume FILE] [--eval N] [--video DIR]

The actor sees what a robot's sensors give, the critic all of it. Other robots walk with other arguments: those of a G1
are in docs/robots.md.
"""

import argparse
import itertools
import math
import sys

import ppo
import torch
from torch import nn


class Half(nn.Module):
    """A net over one part of the observation, whose numbers are brought to a mean of 0 and a deviation of 1."""

    def __init__(self, key: str, inputs: int, hidden: list[int], outputs: int, last_gain: float):
        super().__init__()
        self.key = key
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("square", torch.ones(inputs))
        sizes, layers = (inputs, *hidden), list[nn.Module]()
        for before, after in itertools.pairwise(sizes):
            layers += [ppo.orthogonal(nn.Linear(before, after), 2**0.5), nn.SiLU()]
        self.net = nn.Sequential(*layers, ppo.orthogonal(nn.Linear(sizes[-1], outputs), last_gain))

    def forward(self, observations: dict[str, torch.Tensor]) -> torch.Tensor:
        deviation = (self.square - self.mean.square()).clamp(min=1e-4).sqrt()
        return self.net(((observations[self.key] - self.mean) / deviation).clamp(-10, 10))


# What the actor sees, and what the critic sees: in Playground's words, and in mjlab's.
KEYS = (("state", "privileged_state"), ("actor", "critic"))


class Walker(ppo.Gaussian):
    """Moments of observations follow those of the steps taken, and change between rollouts only."""

    def __init__(self, sizes: dict[str, int], actions: int, args: argparse.Namespace):
        (seen, known) = next(keys for keys in KEYS if set(keys) <= set(sizes))
        actor = Half(seen, sizes[seen], args.hidden, actions, 0.01)
        super().__init__(actor, Half(known, sizes[known], args.hidden, 1, 1.0), actions)
        nn.init.constant_(self.log_deviation, math.log(args.deviation))
        self.register_buffer("seen", torch.zeros(()))  # steps that the moments are of
        self._fresh: list[dict[str, torch.Tensor]] = []
        self._judged = False

    def act(self, observations):
        if self._judged or not self.seen:  # a rollout begins
            self._follow(self._fresh or [observations])
            self._fresh, self._judged = [], False
        if len(self._fresh) < 8:
            self._fresh.append(ppo.each(torch.clone, observations))
        return super().act(observations)

    def judge(self, observations, actions):
        self._judged = True
        return super().judge(observations, actions)

    def _follow(self, steps: list[dict[str, torch.Tensor]]) -> None:
        count = sum(len(step[self.actor.key]) for step in steps)
        weight = count / (self.seen + count)
        for half in (self.actor, self.critic):
            rows = torch.cat([step[half.key] for step in steps])
            half.mean.lerp_(rows.mean(0), weight)
            half.square.lerp_(rows.square().mean(0), weight)
        self.seen += count


def options() -> argparse.ArgumentParser:
    parser = ppo.argument_parser(
        __doc__.split(":")[0], quick={"steps": 16_384, "lanes": 64, "minibatch": 512}, steps=30_000_000, lanes=1024,
        rollout=24, minibatch=2048, epochs=3, learning_rate=1e-3, anneal_from=0.2, entropy=0.01, gamma=0.97,
        max_grad_norm=1.0,
    )  # fmt: skip
    parser.add_argument("--id", default="Go1JoystickFlatTerrain-v0", help="a task with two observations")
    parser.add_argument("--hidden", type=int, nargs="+", default=[128, 128], help="neurons of each layer")
    parser.add_argument("--deviation", type=float, default=math.exp(-0.5), help="of actions, at first")
    parser.add_argument(
        "--reward-scale", type=float, default=50.0, help="a critic that begins with noise wants some size"
    )
    return parser


def main() -> int:
    parser = options()
    args = parser.parse_args()

    # Rewards are sums per second times the 0.02 s of a step.
    task = ppo.Task(args.id, clip_actions=True, reward_scale=args.reward_scale)

    def make_agent(env):
        parts = getattr(env.single_observation_space, "spaces", {})
        if not any(set(keys) <= set(parts) for keys in KEYS):
            parser.error(
                f"--id {args.id}: observations must have the parts state and privileged_state, or actor and critic"
            )
        sizes = {key: space.shape[0] for key, space in parts.items()}
        return Walker(sizes, env.single_action_space.shape[0], args)

    return ppo.train(args, task, make_agent)


if __name__ == "__main__":
    sys.exit(main())
