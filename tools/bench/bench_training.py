"""What a faster env changes in a training loop: one small PPO over three vector envs, with the same seeds and networks.

    pip install -e ".[examples]" && python tools/bench/bench_training.py

PPO as in CleanRL, 16 lanes of CartPole-v1 (--id chooses another environment) and two networks of 64 x 64, is trained
over Gymnasium's CartPoleVectorEnv (what `gymnasium.make_vec("CartPole-v1")` gives), over its SyncVectorEnv, and over
batchenv. The loop is the same, only the line that makes the env differs. The runs take turns; the table shows medians
of their times, and the learning curves. One thread does everything, so that processor time is what wall time would be
on an idle machine; "/ ours" is this time divided by batchenv's of the same round.

SyncVectorEnv and batchenv must give the same episodes in the same order, and the same networks: if they do not, this
exits with 1. CartPoleVectorEnv draws all lanes' start states from one stream, so its curve is another one.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import gymnasium
import numpy as np

try:
    import torch
except ImportError:
    sys.exit("this benchmark needs PyTorch: pip install -e '.[examples]'")
from torch import nn

import batchenv

LENGTH, EPOCHS, MINIBATCHES = 128, 4, 4  # steps per lane between updates; passes over them; parts of a pass
LEARNING_RATE, GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM = 1e-3, 0.99, 0.95, 0.2, 0.01, 0.5, 0.5

Make = Callable[[str, int], gymnasium.vector.VectorEnv]

ENVS: dict[str, Make] = {
    "CartPoleVectorEnv": lambda env_id, lanes: gymnasium.make_vec(
        env_id, lanes, vectorization_mode="vector_entry_point"
    ),
    "SyncVectorEnv": lambda env_id, lanes: gymnasium.make_vec(env_id, lanes, vectorization_mode="sync"),
    "batchenv": batchenv.make,
}


@dataclass
class Run:
    wall: float  # seconds, all in all
    processor: float  # seconds that this process had a processor
    stepping: float  # of these, in env.step
    ends: np.ndarray  # the step (of all lanes together) after which each episode ended
    returns: np.ndarray  # and its return
    weights: torch.Tensor  # of both networks, in the end

    def curve(self, points: int, steps: int) -> list[float]:
        """Mean returns of the episodes that ended in each of `points` equal parts of the run."""
        part = np.minimum(self.ends * points // (steps + 1), points - 1)
        return [float(self.returns[part == k].mean()) if (part == k).any() else float("nan") for k in range(points)]


def network(inputs: int, outputs: int, last_gain: float) -> nn.Sequential:
    layers = [nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)]
    for layer, gain in zip(layers[::2], (2**0.5, 2**0.5, last_gain), strict=True):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


def train(make: Make, env_id: str, lanes: int, steps: int, seed: int) -> Run:
    """One training run; the reading of the clock around env.step is all that is not PPO."""
    torch.manual_seed(seed)
    start, start_processor, stepping = time.perf_counter(), time.process_time(), 0.0
    env = make(env_id, lanes)
    inputs, choices = env.single_observation_space.shape[0], int(env.single_action_space.n)
    actor, critic = network(inputs, choices, 0.01), network(inputs, 1, 1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE, eps=1e-5)

    observations = torch.zeros(LENGTH + 1, lanes, inputs)
    actions = torch.zeros(LENGTH, lanes, dtype=torch.int64)
    log_probs, rewards = torch.zeros(LENGTH, lanes), torch.zeros(LENGTH, lanes)
    terminated = torch.zeros(LENGTH, lanes, dtype=torch.bool)
    over = torch.zeros(LENGTH + 1, lanes, dtype=torch.bool)  # [t + 1]: step t ended the lane's episode
    ends: list[np.ndarray] = []
    returns: list[np.ndarray] = []
    running = np.zeros(lanes)

    observations[-1] = torch.as_tensor(env.reset(seed=seed)[0])
    taken = 0
    while taken < steps:
        observations[0], over[0] = observations[-1], over[-1]
        for t in range(LENGTH):
            with torch.no_grad():
                policy = torch.distributions.Categorical(logits=actor(observations[t]))
                actions[t] = policy.sample()
                log_probs[t] = policy.log_prob(actions[t])
            chosen = actions[t].numpy()
            before = time.process_time()
            observation, reward, termination, truncation, _ = env.step(chosen)
            stepping += time.process_time() - before
            taken += lanes
            done = termination | truncation
            running += reward
            if done.any():
                returns.append(running[done])
                ends.append(np.full(done.sum(), taken))
                running[done] = 0
            observations[t + 1] = torch.as_tensor(observation)
            rewards[t] = torch.as_tensor(reward)
            terminated[t] = torch.as_tensor(termination)
            over[t + 1] = torch.as_tensor(done)

        with torch.no_grad():
            values = critic(observations)[..., 0]
            advantages, running_advantage = torch.zeros(LENGTH, lanes), torch.zeros(lanes)
            for t in reversed(range(LENGTH)):
                delta = rewards[t] + GAMMA * values[t + 1] * ~terminated[t] - values[t]
                running_advantage = delta + GAMMA * LAMBDA * ~over[t + 1] * running_advantage
                advantages[t] = running_advantage
            targets = advantages + values[:-1]
        # The step after an episode's last one only resets the lane (NextStep) and teaches nothing.
        used = torch.nonzero(~over[:-1].flatten())[:, 0]
        rollout = [x.flatten(0, 1) for x in (observations[:-1], actions, log_probs, advantages, targets)]
        for _ in range(EPOCHS):
            for rows in used[torch.randperm(len(used))].chunk(MINIBATCHES):
                obs, acts, old, advantage, target = (x[rows] for x in rollout)
                policy = torch.distributions.Categorical(logits=actor(obs))
                ratio = (policy.log_prob(acts) - old).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                gain = torch.minimum(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
                value_loss = 0.5 * (critic(obs)[:, 0] - target).square().mean()
                loss = VALUE * value_loss - gain - ENTROPY * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, MAX_NORM)
                optimizer.step()
    env.close()
    wall, processor = time.perf_counter() - start, time.process_time() - start_processor
    weights = nn.utils.parameters_to_vector(parameters).detach()
    return Run(wall, processor, stepping, np.concatenate(ends), np.concatenate(returns), weights)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--id", default="CartPole-v1", help="an environment with vectors and discrete actions")
    parser.add_argument("--steps", type=int, default=100_000, help="environment steps per run, of all lanes together")
    parser.add_argument("--lanes", type=int, default=16, help="copies of the environment")
    parser.add_argument("--seed", type=int, default=1, help="of lanes, weights and sampling")
    parser.add_argument("--rounds", type=int, default=5, help="runs over each env, in turns")
    parser.add_argument("--points", type=int, default=6, help="of the learning curve")
    args = parser.parse_args()
    if min(args.steps, args.lanes, args.rounds, args.points) < 1:
        parser.error("--steps, --lanes, --rounds and --points must be at least 1")
    torch.set_num_threads(1)

    envs = {name: make for name, make in ENVS.items() if name != "CartPoleVectorEnv" or args.id == "CartPole-v1"}
    runs: dict[str, list[Run]] = {name: [] for name in envs}
    for make in envs.values():  # what is loaded or chosen once is not any env's to pay
        train(make, args.id, args.lanes, min(args.steps, 2 * LENGTH * args.lanes), args.seed)
    for _ in range(args.rounds):
        for name, make in envs.items():
            runs[name].append(train(make, args.id, args.lanes, args.steps, args.seed))

    print(f"PPO on {args.id}, {args.lanes} lanes, {args.steps:,} steps, medians of {args.rounds} runs in turns")
    head = f"{'wall s':>7} {'processor s':>11} {'stepping s':>10} {'share':>6} {'/ ours':>6}"
    print(f"{'':<18} {head}  mean return as the run goes on")
    for name, own in runs.items():
        wall, processor, stepping, share = (
            statistics.median(of(run) for run in own)
            for of in (
                lambda r: r.wall,
                lambda r: r.processor,
                lambda r: r.stepping,
                lambda r: r.stepping / r.processor,
            )
        )
        ratio = statistics.median(
            run.processor / ours.processor for run, ours in zip(own, runs["batchenv"], strict=True)
        )
        curve = " ".join(f"{value:6.1f}" for value in own[0].curve(args.points, args.steps))
        print(f"{name:<18} {wall:>7.2f} {processor:>11.2f} {stepping:>10.2f} {share:>6.1%} {ratio:>6.2f}  {curve}")

    sync, ours = runs["SyncVectorEnv"][0], runs["batchenv"][0]
    equal = (
        np.array_equal(sync.returns, ours.returns)
        and np.array_equal(sync.ends, ours.ends)
        and torch.equal(sync.weights, ours.weights)
    )
    verdict = "the same" if equal else "NOT the same"
    print(
        f"SyncVectorEnv and batchenv: {verdict} {len(ours.returns):,} episodes, and weights of the networks in the end"
    )
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
