"""Doom in worker processes: pip install vizdoom opencv-python-headless.

Gymnasium's wrappers resize each lane's gray picture and stack the last four, in the process that steps the lane, before
they go to this one. A batch of random actions then shows how many steps per second that makes.

    python examples/vizdoom_env.py --scenario VizdoomDefendCenter-v1 --lanes 16
"""

import argparse
import time

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import FrameStackObservation, ResizeObservation, TransformObservation

import batchenv


def make_env(scenario):
    """One env whose observation is its last four pictures: (4, 84, 84), gray."""
    # "module:id": the module, which registers the ids, is imported in the worker.
    scenario = f"vizdoom.gymnasium_wrapper:{scenario}"
    env = gymnasium.make(scenario, frame_skip=4, screen_format="GRAY8", screen_resolution="RES_160X120")
    height, width, _ = env.observation_space["screen"].shape
    picture = spaces.Box(0, 255, (height, width), np.uint8)
    env = TransformObservation(env, lambda observation: observation["screen"][..., 0], picture)
    return FrameStackObservation(ResizeObservation(env, (84, 84)), 4)


def main():
    """Steps all lanes with random actions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", default="VizdoomBasic-v1")
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="20 steps of 2 lanes")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.lanes, arguments.steps = 2, 20
    env = batchenv.make_python(
        make_env,
        arguments.lanes,
        env_kwargs={"scenario": arguments.scenario},
        record_episode_statistics=True,
    )
    observations, _ = env.reset(seed=0)
    print(f"{arguments.lanes} lanes, observations {observations.shape} {observations.dtype}, {env.single_action_space}")
    returns, start = [], time.perf_counter()
    for _ in range(arguments.steps):
        observations, _, _, _, infos = env.step(env.action_space.sample())
        if "episode" in infos:
            returns += infos["episode"]["r"][infos["_episode"]].tolist()
    seconds = time.perf_counter() - start
    print(f"{arguments.steps * arguments.lanes / seconds:.0f} steps per second")
    if returns:
        print(f"{len(returns)} episodes, mean return {np.mean(returns):.1f}")
    env.close()


if __name__ == "__main__":
    main()
