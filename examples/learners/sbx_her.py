"""SBX's SAC with hindsight, on tasks in which a thing is moved: pip install -e ".[sb3,robotics]" sbx-rl.

python examples/learners/sbx_her.py [--env FetchPush-v4] [--lanes 128] [--steps N] [--updates N] [--quick] [--save FILE]
    [--eval N] [--every N]

SBX is Stable-Baselines3's learners in JAX, with the same envs, wrappers and replay buffers. Trains until 95 of 100
episodes end at their goals; exits with status 1 if --steps are not enough. --updates is how often the networks are
changed for each step of all lanes, and --every is how many steps there are between evaluations.

An arm that acts at random seldom touches the thing, and learning begins with those episodes. So there are many lanes,
and three actions in ten are random; and observations are normalized, as are the layers of the networks.
"""

import sys
import time

import numpy as np
from sbx import SAC
from stable_baselines3 import HerReplayBuffer
from stable_baselines3.common.callbacks import EveryNTimesteps
from stable_baselines3.common.noise import VectorizedActionNoise
from stable_baselines3.common.vec_env import VecNormalize

import batchenv
from common import finish, options
from sb3_her import Evaluation


class Wild(VectorizedActionNoise):
    """Noise that makes the actions of some lanes, others in each step, random: beyond their bounds they are clipped."""

    def __init__(self, shape, seed, share=0.3):
        self.shape, self.rng, self.share = shape, np.random.default_rng(seed), share

    def reset(self, indices=None):
        pass

    def __call__(self):
        noise = self.rng.uniform(-2, 2, self.shape)
        return (noise * (self.rng.random((self.shape[0], 1)) < self.share)).astype(np.float32)


def learner(env, updates: int, seed: int) -> SAC:
    """SAC with gamma, rates and buffer of RL Baselines3 Zoo's kind for Fetch, and smaller networks."""
    noise = Wild((env.num_envs, *env.action_space.shape), seed)
    networks = {"net_arch": [128, 128, 128], "layer_norm": True}
    return SAC("MultiInputPolicy", env, replay_buffer_class=HerReplayBuffer, buffer_size=1_000_000, batch_size=256,
               gamma=0.95, tau=0.05, learning_rate=1e-3, learning_starts=400 * env.num_envs, gradient_steps=updates,
               action_noise=noise, policy_kwargs=networks, seed=seed)  # fmt: skip


def train(args) -> bool:
    """Trains; returns whether the tasks are done."""
    raw, other = batchenv.make(args.env, args.lanes, env_type="sb3", seed=args.seed), batchenv.make(args.env, 100)
    env = VecNormalize(raw, norm_reward=False, clip_obs=5.0)
    model = learner(env, args.updates, args.seed)

    def act(observations):
        return model.predict(env.normalize_obs(observations), deterministic=True)[0]

    often = EveryNTimesteps(max(args.lanes, min(args.steps, args.every)), Evaluation(other, act))
    begin = time.perf_counter()
    model.learn(args.steps, callback=often)
    done = model.num_timesteps < args.steps
    seconds, processor = time.perf_counter() - begin, time.process_time()
    print(f"{args.env}: {'done' if done else 'not done'} after {model.num_timesteps:,} steps in {seconds:.0f} s "
          f"({processor:.0f} s of the processor's)")  # fmt: skip

    def save(path):
        with open(path, "wb") as file:  # of a name without an ending, SB3 would make another one
            model.save(file)

    finish(args, lambda count: batchenv.make(args.env, count), act, save)
    return done


def main() -> int:
    quick = {"lanes": 16, "steps": 8_000, "updates": 4}
    args = options(__doc__, quick, env="FetchPush-v4", lanes=128, steps=2_000_000, speed=False,
                   more=(("updates", 32, "changes of the networks per step of all lanes"),
                         ("every", 64_000, "steps between evaluations")))  # fmt: skip
    return 0 if train(args) or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
