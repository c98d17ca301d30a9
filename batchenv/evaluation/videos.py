"""Videos of chosen episodes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from batchenv.env.batch_env import BatchEnv


class Videos:
    """Collects the frames of episodes, and writes a file of each: EPISODE.mp4, such as 000007.mp4.

    Args:
        folder: where they go; None: nothing is recorded.
        episodes: which ones, by their place in the plan.
        env: with render_mode="rgb_array".

    Raises:
        ValueError: the env draws no pictures.
        gymnasium.error.DependencyNotInstalled: moviepy is missing.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, episodes: Sequence[int], env: Any):
        self._env, self._frames = env, dict[int, list[NDArray[np.uint8]]]()
        self._episodes = frozenset() if folder is None else frozenset(episodes)
        if folder is None:
            return
        if env.render_mode != "rgb_array":
            raise ValueError(f"videos need an env with render_mode='rgb_array', and not {env.render_mode!r}")
        try:
            from moviepy.video.io.ImageSequenceClip import (  # pyright: ignore[reportMissingImports]
                ImageSequenceClip,
            )
        except ImportError as error:
            raise DependencyNotInstalled('videos need moviepy: pip install "batchenv[render]"') from error
        self._clip = ImageSequenceClip
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)

    def take(self, playing: dict[int, int]) -> None:
        """Takes a frame of the episodes that are to be recorded. playing: {lane: its episode}."""
        lanes = [lane for lane, episode in playing.items() if episode in self._episodes]
        if not lanes:
            return
        ours = isinstance(self._env, BatchEnv)
        frames = self._env.render(lanes) if ours else self._env.render()
        for k, lane in enumerate(lanes):
            self._frames.setdefault(playing[lane], []).append(np.array(frames[k if ours else lane]))

    def finish(self, episode: int) -> None:
        """Writes the video of an episode that has ended."""
        frames = self._frames.pop(episode, None)
        if frames:
            clip = self._clip(frames, fps=self._env.metadata.get("render_fps") or 30)
            clip.write_videofile(str(self._folder / f"{episode:06d}.mp4"), logger=None)
