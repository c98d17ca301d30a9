"""PPO on CartPole-v1 in one file, with PyTorch: pip install "batchenv[examples]".

Trains until the episodes that finished since the latest update return 475 on average, Gymnasium's threshold, and greedy
actions on fresh episodes do as well. Exits with status 1 if --max-steps are not enough.
"""

import argparse
import sys
import time
from collections import defaultdict
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

import batchenv

ENV_ID = "CartPole-v1"
EVALUATION_SEED = 1_000_000  # away from the training lanes' seeds


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.split(":")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="of lanes, weights and sampling")
    parser.add_argument("--lanes", type=int, default=1024, help="environments stepped at once")
    parser.add_argument("--rollout", type=int, default=64, help="steps per lane between updates")
    parser.add_argument("--max-steps", type=int, default=10_000_000, help="environment steps after which to give up")
    parser.add_argument("--target", type=float, default=475.0, help="mean return at which to stop")
    parser.add_argument("--min-episodes", type=int, default=100, help="fewest episodes that such a mean is taken over")
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--gamma", type=float, default=0.99, help="discount")
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--epochs", type=int, default=4, help="passes over each rollout")
    parser.add_argument("--minibatch", type=int, default=4096)
    parser.add_argument("--clip", type=float, default=0.2, help="largest change of an action's probability ratio")
    parser.add_argument("--entropy", type=float, default=0.01, help="weight of the entropy bonus")
    parser.add_argument("--value", type=float, default=0.5, help="weight of the value loss")
    parser.add_argument("--max-grad-norm", type=float, default=0.5)
    parser.add_argument(
        "--torch-threads", type=int, default=1, help="more gains a little on idle cores, not on busy ones"
    )
    args = parser.parse_args()
    if args.lanes * args.rollout < 500 * args.min_episodes:
        parser.error("--lanes times --rollout must be at least 500 times --min-episodes, to finish so many")
    return args


class Stopwatch:
    """Seconds by what they were spent on."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, name: str):
        start = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - start


def network(inputs: int, outputs: int, last_gain: float) -> nn.Sequential:
    layers = [nn.Linear(inputs, 64), nn.Linear(64, 64), nn.Linear(64, outputs)]
    for layer, gain in zip(layers, (2**0.5, 2**0.5, last_gain), strict=True):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])


def sample(logits: torch.Tensor) -> torch.Tensor:
    """One action per row, with probabilities softmax(logits): the largest logit after adding Gumbel noise."""
    return (logits - torch.empty_like(logits).exponential_().log_()).argmax(dim=1)


def advantages_of(
    values: torch.Tensor, rewards: torch.Tensor, terminated: torch.Tensor, done: torch.Tensor, gamma: float, lam: float
) -> torch.Tensor:
    """Generalised advantage estimates, (steps, lanes); `values` has one step more than the others.

    observations[t + 1] is what step t led to, in an episode's last step too: the lane is reset a step later. So
    values[t + 1] is the right bootstrap wherever the episode was truncated, and only termination drops it.
    """
    deltas = rewards + gamma * values[1:] * ~terminated - values[:-1]
    carry_on = gamma * lam * ~done
    advantages = torch.empty_like(deltas)
    running = torch.zeros_like(deltas[0])
    for t in reversed(range(len(deltas))):
        running = torch.addcmul(deltas[t], carry_on[t], running, out=advantages[t])
    return advantages


@torch.inference_mode()
def evaluate(policy: nn.Module, seed: int, lanes: int = 64) -> float:
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


def pick(log_probs: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    """Each row's entry of its action."""
    return log_probs.gather(1, actions[:, None])[:, 0]


def learn(
    args: argparse.Namespace,
    policy: nn.Module,
    critic: nn.Module,
    optimizer: torch.optim.Optimizer,
    observations: torch.Tensor,
    actions: torch.Tensor,
    advantages: torch.Tensor,
    targets: torch.Tensor,
) -> float:
    """One PPO update from rows of a rollout; the mean entropy of the policy's actions meanwhile."""
    with torch.no_grad():
        old_log_probs = pick(policy(observations).log_softmax(dim=1), actions)
    parameters = [*policy.parameters(), *critic.parameters()]
    entropies = []
    for _ in range(args.epochs):
        for rows in torch.randperm(len(actions)).split(args.minibatch):
            log_probs = policy(observations[rows]).log_softmax(dim=1)
            entropy = -(log_probs.exp() * log_probs).sum(dim=1).mean()
            ratio = (pick(log_probs, actions[rows]) - old_log_probs[rows]).exp()
            weight = advantages[rows]
            weight = (weight - weight.mean()) / (weight.std(correction=0) + 1e-8)
            gain = torch.minimum(ratio * weight, ratio.clamp(1 - args.clip, 1 + args.clip) * weight).mean()
            value_loss = (critic(observations[rows])[:, 0] - targets[rows]).square().mean()
            loss = args.value * value_loss - gain - args.entropy * entropy
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, args.max_grad_norm)
            optimizer.step()
            entropies.append(entropy.item())
    return sum(entropies) / len(entropies)


def main() -> int:
    args = parse_arguments()
    start = time.perf_counter()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.torch_threads)
    watch = Stopwatch()

    steps, lanes = args.rollout, args.lanes
    env = batchenv.make(ENV_ID, num_envs=lanes, autoreset_mode="NextStep")
    inputs, choices = env.single_observation_space.shape[0], int(env.single_action_space.n)
    policy, critic = network(inputs, choices, 0.01), network(inputs, 1, 1.0)
    optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=args.learning_rate, eps=1e-5)

    # The rollout: env.step writes straight into these arrays, and the tensors below share their memory.
    obs_array = np.empty((steps + 1, lanes, inputs), dtype=np.float32)
    reward_array = np.empty((steps, lanes))
    terminated_array, truncated_array = np.empty((2, steps, lanes), dtype=bool)
    action_array = np.empty((steps, lanes), dtype=np.int64)
    observations, actions = torch.from_numpy(obs_array), torch.from_numpy(action_array)
    rewards, terminated = torch.from_numpy(reward_array), torch.from_numpy(terminated_array)
    # In mode NextStep the step after an episode's last one ignores its action and resets the lane: nothing to learn.
    is_reset = np.zeros((steps + 1, lanes), dtype=bool)

    obs_array[-1], _ = env.reset(seed=args.seed)
    returns = np.zeros(lanes)  # of the running episodes
    episodes = taken = update = 0
    solved = False
    print(f"{'update':>6} {'steps':>10} {'episodes':>8} {'return':>7} {'entropy':>7} {'seconds':>7}")
    while not solved and taken < args.max_steps:
        obs_array[0], is_reset[0] = obs_array[-1], is_reset[-1]
        finished = []
        for t in range(steps):
            with watch("acting"), torch.inference_mode():
                actions[t] = sample(policy(observations[t]))
            with watch("stepping"):
                env.step(
                    action_array[t], out=(obs_array[t + 1], reward_array[t], terminated_array[t], truncated_array[t])
                )
            np.logical_or(terminated_array[t], truncated_array[t], out=is_reset[t + 1])
            returns += reward_array[t]
            finished.append(returns[is_reset[t + 1]])
            returns[is_reset[t + 1]] = 0
        taken += steps * lanes
        finished = np.concatenate(finished)
        episodes += len(finished)
        mean = finished.mean() if len(finished) else float("nan")
        line = f"{taken:>10,} {episodes:>8,} {mean:>7.1f}"

        if len(finished) >= args.min_episodes and mean >= args.target:
            greedy = evaluate(policy, args.seed + EVALUATION_SEED)
            solved = greedy >= args.target
            print(f"{'check':>6} {line}   greedy evaluation: {greedy:.1f}")
            if solved:
                break

        with watch("learning"):
            done = torch.from_numpy(is_reset[1:])
            with torch.no_grad():
                values = critic(observations)[..., 0]
            advantages = advantages_of(values, rewards.float(), terminated, done, args.gamma, args.gae_lambda)
            rows = torch.from_numpy(~is_reset[:-1])
            entropy = learn(
                args, policy, critic, optimizer,
                observations[:-1][rows], actions[rows], advantages[rows], (advantages + values[:-1])[rows],
            )  # fmt: skip
        update += 1
        print(f"{update:>6} {line} {entropy:>7.3f} {time.perf_counter() - start:>7.1f}")

    env.close()
    wall = time.perf_counter() - start
    print(f"{'solved' if solved else 'not solved'} after {taken:,} steps and {wall:.1f} s, of which")
    watch.seconds["other"] = wall - sum(watch.seconds.values())
    for name, seconds in watch.seconds.items():
        print(f"  {name:<8} {seconds:>6.2f} s {seconds / wall:>6.1%}")
    print(f"  stepping alone: {taken / watch.seconds['stepping']:,.0f} steps/s")
    return 0 if solved else 1


if __name__ == "__main__":
    sys.exit(main())
