"""PPO with PyTorch, for ppo_*.py beside this file: pip install -e ".[examples]".

--save FILE keeps what a run has learnt, and --resume FILE goes on from there; --eval N and --video DIR show how good
the agent is. `--resume FILE --steps 1 --eval 16` evaluates without training any further. --quick tries in seconds
whether everything works.
"""

import argparse
import copy
import os
import pickle
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers.vector import RecordVideo

try:
    import torch
except ImportError:
    sys.exit("this example needs PyTorch: pip install -e '.[examples]'")
from torch import nn

import batchenv

EVALUATION_SEED = 1_000_000  # added to --seed, so that evaluation has other seeds than the lanes of training


def positive(text: str) -> int:
    number = int(text.replace("_", ""))
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} must be at least 1")
    return number


def argument_parser(
    description: str, quick: dict[str, int], target: float | None = None, **defaults
) -> argparse.ArgumentParser:
    """The options that all PPO examples have, and with a `target` those of `solve`; `defaults` replaces defaults, and
    with --quick `quick` replaces these."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="seed of lanes, weights and sampling")
    parser.add_argument("--steps", type=positive, default=1_000_000, help="environment steps, of all lanes together")
    parser.add_argument("--lanes", type=positive, default=64, help="environments stepped at once")
    parser.add_argument("--rollout", type=positive, default=128, help="steps per lane between updates")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument(
        "--anneal-from", type=float, default=0.0, help="share of the steps after which the learning rate falls to 0"
    )
    parser.add_argument("--gamma", type=float, default=0.99, help="discount")
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--epochs", type=positive, default=4, help="passes over each rollout")
    parser.add_argument("--minibatch", type=positive, default=1024)
    parser.add_argument("--clip", type=float, default=0.2, help="largest change of an action's probability ratio")
    parser.add_argument("--entropy", type=float, default=0.01, help="weight of the entropy bonus")
    parser.add_argument("--value", type=float, default=0.5, help="weight of the value loss")
    parser.add_argument("--max-grad-norm", type=float, default=0.5)
    parser.add_argument(
        "--torch-threads", type=positive, default=1, help="threads of PyTorch; more help only on idle cores"
    )
    parser.add_argument(
        "--save", metavar="FILE", help="keep agent, optimizer and lanes there, as they were at the last line printed"
    )
    parser.add_argument(
        "--resume", metavar="FILE", help="go on from what --save wrote, with its lanes, until --steps are made in all"
    )
    parser.add_argument("--eval", type=positive, metavar="N", help="afterwards play N greedy and N sampled episodes")
    parser.add_argument("--video", metavar="DIR", help="afterwards record a greedy episode")
    if target is not None:
        parser.add_argument("--target", type=float, default=target, help="mean return at which to stop")
        parser.add_argument("--min-episodes", type=positive, default=100, help="least episodes in such a mean")
    short = ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in quick.items())
    parser.add_argument("--quick", action="store_true", help=f"a short run, too short to learn much: {short}")
    parser.set_defaults(**{**defaults, **(quick if "--quick" in sys.argv else {})})
    return parser


class Task:
    """An environment with the keywords that training and evaluation have in common."""

    def __init__(self, env_id: str, **keywords) -> None:
        self.env_id, self.keywords = env_id, keywords

    def make(self, lanes: int, **more) -> batchenv.BatchEnv:
        """`batchenv.make`; ends the program with its message if the id is unknown or its simulator is missing."""
        keywords = {"autoreset_mode": "NextStep", "record_episode_statistics": True, **self.keywords, **more}
        try:
            return batchenv.make(self.env_id, lanes, **keywords)
        # FileNotFoundError: a game's ROM is missing.
        except (gymnasium.error.DependencyNotInstalled, FileNotFoundError, ValueError) as error:
            sys.exit(f"{self.env_id}: {error}")

    def make_for_evaluation(self, trained: batchenv.BatchEnv, lanes: int, **more) -> batchenv.BatchEnv:
        """New lanes; if observations are normalized, by the moments of the trained env, which then stay as they are."""
        env = self.make(lanes, **more)
        if env.normalizer is not None:
            env.normalizer.obs_rms = copy.deepcopy(trained.normalizer.obs_rms)
            env.normalizer.update_running_mean = False
        return env

    def check_video(self) -> None:
        """Ends the program if it could not draw or write a video."""
        try:
            import moviepy  # noqa: F401
        except ImportError:
            sys.exit("--video needs MoviePy: pip install -e '.[render]'")
        env = self.make(1, render_mode="rgb_array")
        env.reset()
        try:
            env.render()
        except gymnasium.error.DependencyNotInstalled as error:
            sys.exit(f"--video: {error}")
        env.close()


def prepare(args: argparse.Namespace, task: Task) -> tuple[batchenv.BatchEnv, dict[str, Any] | None]:
    """The env to train, and the other contents of the file that --resume names, or None.

    Ends the program if --save or --video would fail later.
    """
    if args.save and not Path(args.save).absolute().parent.is_dir():
        sys.exit(f"--save {args.save}: its folder does not exist")
    if args.video:
        task.check_video()
    if not args.resume:
        return task.make(args.lanes), None
    try:
        # The file holds a pickled env, so loading it can run code: resume only files of your own.
        saved = torch.load(args.resume, weights_only=False)
        env = saved["env"]
    except (OSError, RuntimeError, KeyError, TypeError, EOFError, pickle.UnpicklingError) as error:
        sys.exit(f"--resume {args.resume} is not a file that --save wrote: {error}")
    if saved["id"] != task.env_id:
        sys.exit(f"--resume {args.resume} was saved with --id {saved['id']}, not {task.env_id}")
    args.lanes = env.num_envs
    return env, saved


class Stopwatch:
    """Measures what the seconds are spent on: wall time, and the processor time of all threads, which busy cores change
    less."""

    def __init__(self) -> None:
        self.parts: defaultdict[str, np.ndarray] = defaultdict(lambda: np.zeros(2))
        self.start = self._now()

    @staticmethod
    def _now() -> np.ndarray:
        return np.array([time.perf_counter(), time.process_time()])

    @contextmanager
    def __call__(self, name: str):
        start = self._now()
        yield
        self.parts[name] += self._now() - start

    def wall(self) -> float:
        return self._now()[0] - self.start[0]

    def report(self, steps: int) -> None:
        if not steps:
            return
        total = self._now() - self.start
        parts = {**self.parts, "other": total - sum(self.parts.values()), "total": total}
        print(f"{steps:,} steps; seconds:")
        for name, (wall, processor) in parts.items():
            shares = wall / total[0], processor / total[1]
            print(f"  {name:<8} {wall:>8.2f} {shares[0]:>6.1%}   of processors {processor:>8.2f} {shares[1]:>6.1%}")
        print(f"  stepping alone: {steps / self.parts['stepping'][0]:,.0f} steps/s")


def each(function: Callable[..., Any], *parts: Any) -> Any:
    """`function` of arrays, or, where observations are dicts, a dict of its results for each key's arrays."""
    if isinstance(parts[0], dict):
        return {key: function(*(part[key] for part in parts)) for key in parts[0]}
    return function(*parts)


def orthogonal(layer: nn.Module, gain: float) -> nn.Module:
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def mlp(inputs: int, outputs: int, last_gain: float) -> nn.Sequential:
    first, second = (orthogonal(nn.Linear(size, 64), 2**0.5) for size in (inputs, 64))
    return nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), orthogonal(nn.Linear(64, outputs), last_gain))


class Discrete(nn.Module):
    """Actions with probabilities softmax(actor(body(observations))), and values critic(body(observations))."""

    def __init__(self, actor: nn.Module, critic: nn.Module, body: nn.Module | None = None):
        super().__init__()
        self.body, self.actor, self.critic = body or nn.Identity(), actor, critic

    def values(self, observations: torch.Tensor) -> torch.Tensor:
        return self.critic(self.body(observations))[:, 0]

    def best(self, observations: torch.Tensor) -> torch.Tensor:
        """The most probable actions."""
        return self.actor(self.body(observations)).argmax(dim=1)

    def act(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Sampled actions, their log probabilities, and values."""
        features = self.body(observations)
        log_probs = self.actor(features).log_softmax(dim=1)
        # The largest logit after adding Gumbel noise is a sample, too, and takes less time than torch.multinomial.
        actions = (log_probs - torch.empty_like(log_probs).exponential_().log_()).argmax(dim=1)
        return actions, log_probs.gather(1, actions[:, None])[:, 0], self.critic(features)[:, 0]

    def judge(
        self, observations: torch.Tensor, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Log probabilities of given actions, mean entropy, and values."""
        features = self.body(observations)
        log_probs = self.actor(features).log_softmax(dim=1)
        entropy = -(log_probs.exp() * log_probs).sum(dim=1).mean()
        return log_probs.gather(1, actions[:, None])[:, 0], entropy, self.critic(features)[:, 0]


class Gaussian(nn.Module):
    """Actions are drawn around actor(observations), with a learnt deviation per component; values are
    critic(observations). Methods are those of Discrete."""

    def __init__(self, actor: nn.Module, critic: nn.Module, actions: int):
        super().__init__()
        self.actor, self.critic = actor, critic
        self.log_deviation = nn.Parameter(torch.zeros(actions))

    def values(self, observations: torch.Tensor) -> torch.Tensor:
        return self.critic(observations)[:, 0]

    def _distribution(self, observations: torch.Tensor) -> torch.distributions.Normal:
        return torch.distributions.Normal(self.actor(observations), self.log_deviation.exp(), validate_args=False)

    def best(self, observations: torch.Tensor) -> torch.Tensor:
        return self.actor(observations)

    def act(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        distribution = self._distribution(observations)
        actions = distribution.sample()
        return actions, distribution.log_prob(actions).sum(dim=1), self.values(observations)

    def judge(
        self, observations: torch.Tensor, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        distribution = self._distribution(observations)
        entropy = distribution.entropy().sum(dim=1).mean()
        return distribution.log_prob(actions).sum(dim=1), entropy, self.values(observations)


def advantages_of(
    values: torch.Tensor, rewards: torch.Tensor, terminated: torch.Tensor, done: torch.Tensor, gamma: float, lam: float
) -> torch.Tensor:
    """Generalised advantage estimates, (steps, lanes); `values` has one step more than the others.

    observations[t + 1] is what step t led to, also in an episode's last step, because the lane is reset one step later.
    So values[t + 1] is the right bootstrap also where the episode was truncated; only a termination drops it.
    """
    deltas = rewards + gamma * values[1:] * ~terminated - values[:-1]
    carry_on = gamma * lam * ~done
    advantages = torch.empty_like(deltas)
    running = torch.zeros_like(deltas[0])
    for t in reversed(range(len(deltas))):
        running = torch.addcmul(deltas[t], carry_on[t], running, out=advantages[t])
    return advantages


def learn(
    args: argparse.Namespace,
    agent: Discrete | Gaussian,
    optimizer: torch.optim.Optimizer,
    used: torch.Tensor,
    observations: torch.Tensor | dict[str, torch.Tensor],
    actions: torch.Tensor,
    old_log_probs: torch.Tensor,
    advantages: torch.Tensor,
    targets: torch.Tensor,
) -> float:
    """Makes one PPO update from the rows `used` of a rollout, and returns the mean entropy of the policy's actions."""
    entropies = []
    for _ in range(args.epochs):
        for rows in used[torch.randperm(len(used))].split(args.minibatch):
            log_probs, entropy, values = agent.judge(
                each(lambda part, rows=rows: part[rows], observations), actions[rows]
            )
            ratio = (log_probs - old_log_probs[rows]).exp()
            weight = advantages[rows]
            weight = (weight - weight.mean()) / (weight.std(correction=0) + 1e-8)
            gain = torch.minimum(ratio * weight, ratio.clamp(1 - args.clip, 1 + args.clip) * weight).mean()
            value_loss = (values - targets[rows]).square().mean()
            loss = args.value * value_loss - gain - args.entropy * entropy
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
            optimizer.step()
            entropies.append(entropy.item())
    return sum(entropies) / len(entropies)


@dataclass
class Progress:
    update: int  # how many updates there have been
    steps: int  # how many steps all lanes have made together
    returns: np.ndarray  # the returns of episodes that ended since the last update
    entropy: float


class Training:
    """A run that can be interrupted: `save` writes everything that its future depends on."""

    def __init__(
        self,
        env: batchenv.BatchEnv,
        agent: Discrete | Gaussian,
        args: argparse.Namespace,
        saved: dict[str, Any] | None,
    ) -> None:
        self.env, self.agent, self.args = env, agent, args
        self.optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
        if saved is None:
            self.update = 0
            self.observations, _ = env.reset(seed=args.seed)
            self.is_reset = np.zeros(env.num_envs, dtype=bool)
            return
        try:
            agent.load_state_dict(saved["agent"])
        except RuntimeError as error:
            sys.exit(f"--resume {args.resume} holds an agent of another shape: {error}")
        self.optimizer.load_state_dict(saved["optimizer"])
        self.update, self.observations, self.is_reset = (saved[key] for key in ("update", "observations", "is_reset"))
        torch.set_rng_state(saved["torch_rng"])

    def save(self, env_id: str) -> None:
        """Writes the file that --save names. It replaces the old one in one go, so there is always a complete file."""
        state = {
            "id": env_id,
            "env": self.env,  # pickled, with its lanes, random streams and moments
            "agent": self.agent.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "update": self.update,
            "observations": self.observations,
            "is_reset": self.is_reset,
            "torch_rng": torch.get_rng_state(),
        }
        torch.save(state, self.args.save + ".part")
        os.replace(self.args.save + ".part", self.args.save)

    def see(self, step: int, infos: dict[str, Any]) -> None:
        """Is called with the infos of each step of a rollout, for training that looks at more than returns."""

    def judge(self, advantages: torch.Tensor, is_reset: np.ndarray) -> None:
        """Is called after each rollout. advantages: (steps, lanes). is_reset: (steps + 1, lanes), where a step only
        resets the lane."""

    def updates(self, watch: Stopwatch) -> Iterator[Progress]:
        """Trains until args.steps steps have been made, and yields how it goes after each update."""
        env, agent, args = self.env, self.agent, self.args
        steps, lanes = args.rollout, env.num_envs
        action_space = env.single_action_space
        updates = -(-args.steps // (steps * lanes))

        # env.step writes the rollout straight into these arrays, and the tensors below share their memory.
        obs_array = each(lambda part: np.empty((steps + 1, *part.shape), part.dtype), self.observations)
        reward_array = np.empty((steps, lanes))
        terminated_array, truncated_array = np.empty((2, steps, lanes), dtype=bool)
        action_array = np.empty((steps, lanes, *action_space.shape), action_space.dtype)
        observations, actions = each(torch.from_numpy, obs_array), torch.from_numpy(action_array)
        rewards, terminated = torch.from_numpy(reward_array), torch.from_numpy(terminated_array)
        values, log_probs = torch.empty(steps + 1, lanes), torch.empty(steps, lanes)
        # In mode NextStep the step after an episode's last one ignores its action, resets the lane and teaches nothing.
        is_reset = np.zeros((steps + 1, lanes), dtype=bool)

        while self.update < updates:
            each(lambda all_steps, first: np.copyto(all_steps[0], first), obs_array, self.observations)
            is_reset[0] = self.is_reset
            finished = [np.empty(0)]
            for t in range(steps):
                with watch("acting"), torch.inference_mode():
                    actions[t], log_probs[t], values[t] = agent.act(each(lambda part, t=t: part[t], observations))
                after = each(lambda part, t=t: part[t + 1], obs_array)
                out = after, reward_array[t], terminated_array[t], truncated_array[t]
                with watch("stepping"):
                    infos = env.step(action_array[t], out=out)[-1]
                np.logical_or(terminated_array[t], truncated_array[t], out=is_reset[t + 1])
                self.see(t, infos)
                if "episode" in infos:
                    finished.append(infos["episode"]["r"][infos["_episode"]])

            with watch("learning"):
                with torch.no_grad():
                    values[steps] = agent.values(each(lambda part: part[steps], observations))
                done = torch.from_numpy(is_reset[1:])
                advantages = advantages_of(values, rewards.float(), terminated, done, args.gamma, args.gae_lambda)
                self.judge(advantages, is_reset)
                targets = advantages + values[:-1]
                left = 1 - self.update / updates
                self.optimizer.param_groups[0]["lr"] = args.learning_rate * left / max(1 - args.anneal_from, left)
                rollout = actions, log_probs, advantages, targets
                seen = each(lambda part: part[:-1].flatten(0, 1), observations)
                used = torch.from_numpy(np.flatnonzero(~is_reset[:-1]))
                entropy = learn(args, agent, self.optimizer, used, seen, *(part.flatten(0, 1) for part in rollout))
            self.update += 1
            self.observations, self.is_reset = each(lambda part: part[-1].copy(), obs_array), is_reset[-1].copy()
            yield Progress(self.update, self.update * steps * lanes, np.concatenate(finished), entropy)


@torch.inference_mode()
def evaluate(env: gymnasium.vector.VectorEnv, agent: Discrete | Gaussian, seed: int, greedy: bool) -> np.ndarray:
    """Returns of the first episode of each lane, before rewards are scaled or clipped."""
    observations, _ = env.reset(seed=seed)
    returns = np.full(env.num_envs, np.nan)
    while np.isnan(returns).any():
        rows = each(torch.from_numpy, observations)
        actions = agent.best(rows) if greedy else agent.act(rows)[0]
        observations, _, _, _, infos = env.step(actions.numpy())
        if "episode" in infos:
            first = infos["_episode"] & np.isnan(returns)
            returns[first] = infos["episode"]["r"][first]
    return returns


def show(task: Task, trained: batchenv.BatchEnv, agent: Discrete | Gaussian, args: argparse.Namespace) -> None:
    """Plays what --eval and --video ask for."""
    seed = args.seed + EVALUATION_SEED
    for greedy in (True, False) if args.eval else ():
        env = task.make_for_evaluation(trained, args.eval)
        returns = evaluate(env, agent, seed, greedy)
        env.close()
        print(
            f"{args.eval} {'greedy' if greedy else 'sampled'} episodes: mean return {returns.mean():.4g}, "
            f"from {returns.min():.4g} to {returns.max():.4g}"
        )
    if args.video:
        env = task.make_for_evaluation(trained, 1, render_mode="rgb_array")
        recorder = RecordVideo(env, args.video, episode_trigger=lambda episode: episode == 0)
        (result,) = evaluate(recorder, agent, seed, greedy=True)
        recorder.close()
        print(f"video in {args.video}: an episode with a return of {result:.4g}")


class Table:
    """Prints a line after every `every` updates, about the episodes that ended since the line before."""

    def __init__(self, every: int, watch: Stopwatch) -> None:
        self.every, self.watch = every, watch
        self.episodes, self.returns = 0, []
        print(f"{'update':>6} {'steps':>11} {'episodes':>8} {'return':>8} {'entropy':>7} {'seconds':>7}")

    def add(self, progress: Progress) -> float | None:
        """Returns the mean return if a line was printed, else None."""
        self.returns.extend(progress.returns)
        if progress.update % self.every or not self.returns:
            return None
        self.episodes += len(self.returns)
        mean = float(np.mean(self.returns))
        self.returns.clear()
        print(
            f"{progress.update:>6} {progress.steps:>11,} {self.episodes:>8,} {mean:>8.4g} {progress.entropy:>7.3f} "
            f"{self.watch.wall():>7.1f}",
            flush=True,
        )
        return mean


def train_to_the_end(
    training: Training,
    task: Task,
    watch: Stopwatch,
    every: int,
    stop: Callable[[Progress, float], bool] = lambda progress, mean: False,
) -> bool:
    """Trains, prints a line after every `every` updates, and in the end the mean returns and what took how long.

    Returns: whether `stop`, which is called after each line, has ended the run.
    """
    args, first = training.args, training.update
    table, means, stopped = Table(every, watch), [], False
    for progress in training.updates(watch):
        if (mean := table.add(progress)) is not None:
            means.append(mean)
            if args.save:
                training.save(task.env_id)
            if stopped := stop(progress, mean):
                break
    if args.save:
        training.save(task.env_id)
    if means:
        print(f"mean return at first {means[0]:.4g}, at last {means[-1]:.4g}")
    watch.report((training.update - first) * args.rollout * args.lanes)
    return stopped


def begin(
    args: argparse.Namespace, task: Task, make_agent: Callable[[batchenv.BatchEnv], Discrete | Gaussian]
) -> tuple[Training, Stopwatch]:
    """The run that the options ask for. make_agent: makes the networks for an env."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.torch_threads)
    watch = Stopwatch()
    env, saved = prepare(args, task)
    return Training(env, make_agent(env), args, saved), watch


def train(
    args: argparse.Namespace,
    task: Task,
    make_agent: Callable[[batchenv.BatchEnv], Discrete | Gaussian],
    every: int = 16,
    also: tuple[str, Task] | None = None,
) -> int:
    """Trains for --steps steps, prints a line after every `every` updates, and plays what --eval and --video ask for.

    Args:
        make_agent: makes the networks for an env.
        also: what --eval says of a second task before it plays that, too; and the task.

    Returns:
        The program's exit status, 0.
    """
    training, watch = begin(args, task, make_agent)
    train_to_the_end(training, task, watch, every)
    show(task, training.env, training.agent, args)
    if also and args.eval:
        print(also[0])
        args.video = None
        show(also[1], training.env, training.agent, args)
    training.env.close()
    return 0


def make_vector_agent(env: batchenv.BatchEnv) -> Discrete:
    """For observations that are vectors: two networks of two layers."""
    inputs, choices = env.single_observation_space.shape[0], int(env.single_action_space.n)
    return Discrete(mlp(inputs, choices, 0.01), mlp(inputs, 1, 1.0))


def solve(
    args: argparse.Namespace,
    task: Task,
    make_agent: Callable[[batchenv.BatchEnv], Discrete] = make_vector_agent,
    score: Callable[[np.ndarray], np.ndarray] = lambda returns: returns,
    evaluated: int = 64,
    greedy: bool = True,
) -> int:
    """Trains on a task with discrete actions, until the last --min-episodes episodes or more have a mean score of
    --target, and so have new episodes.

    Args:
        make_agent: makes the networks for an env.
        score: of the returns of episodes; by default the return itself.
        evaluated: how many new episodes there are.
        greedy: whether these take the most probable actions; otherwise actions are drawn, as in training.

    Returns:
        The program's exit status: 1 if --steps were not enough, unless the run was to be --quick.
    """
    training, watch = begin(args, task, make_agent)
    env, agent = training.env, training.agent
    last = deque()

    def is_solved(progress: Progress, mean: float) -> bool:
        last.append(progress.returns)
        while sum(map(len, last)) - len(last[0]) >= args.min_episodes:
            last.popleft()
        returns = np.concatenate(last)
        if len(returns) < args.min_episodes or score(returns).mean() < args.target:
            return False
        fresh = task.make_for_evaluation(env, evaluated)
        returns = evaluate(fresh, agent, args.seed + EVALUATION_SEED, greedy)
        fresh.close()
        print(f"{'greedy' if greedy else 'sampled'} evaluation: {score(returns).mean():.4g}")
        return bool(score(returns).mean() >= args.target)

    solved = train_to_the_end(training, task, watch, every=1, stop=is_solved)
    print("solved" if solved else "not solved, in a quick run" if args.quick else "not solved")
    show(task, env, agent, args)
    env.close()
    return 0 if solved or args.quick else 1
