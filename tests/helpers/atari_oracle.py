"""A slow lane of an Atari game, which does in Python, frame by frame and with OpenCV, what a step of ours does at once:
skipped frames, the brighter of the last two, shrunk and stacked, and ends in the midst of a step. Its frames are those
of an env without any preprocessing, on the library as it is."""

import collections

import cv2
import numpy as np

import batchenv
from helpers.atari import PLAIN, RAW, id_of, own_emulator

# What the options are by default.
USUAL = {
    **{"frameskip": 4, "maxpool": True, "obs_type": "grayscale", "stack_num": 4, "img_height": 84, "img_width": 84},
    **{"episodic_life": False, "noop_max": 0, "use_fire_reset": False, "max_num_frames_per_episode": 0},
    **{"repeat_action_probability": 0.0, "reward_clipping": False},
}


def make(game, own, lanes=1, **options):
    """An env whose lanes are reset by masks."""
    with own_emulator(own):
        return batchenv.make(id_of(game), lanes, autoreset_mode="Disabled", **{**USUAL, **options})


class Slow:
    """`options` are those of a lane of ours, whose random actions and no-ops must be left out or told."""

    def __init__(self, game, **options):
        self.options = {**USUAL, **options}
        self.pictured = self.options["obs_type"] != "ram"
        shown = self.options["obs_type"] if self.pictured else "grayscale"
        raw = {**RAW, **PLAIN, "obs_type": shown, "maxpool": False, "max_num_frames_per_episode": 0}
        self.raw = make(game, False, **raw)
        self.stack = collections.deque(maxlen=self.options["stack_num"] or 1)
        self.lives = 0

    def frame(self, action):
        """One frame of the game; returns its picture, its reward and whether the game is over."""
        picture, reward, over, *_ = self.raw.step(np.array([action]))
        return picture[0], reward[0], bool(over[0])

    def shown(self, *pictures):
        """The newest frame of the observation."""
        if not self.pictured:
            return self.raw.state["ram"][0]
        size = self.options["img_width"], self.options["img_height"]
        return cv2.resize(np.maximum.reduce(pictures), size, interpolation=cv2.INTER_AREA)

    def observation(self):
        frames = np.stack(self.stack)
        return frames if self.options["stack_num"] is not None else frames[0]

    def begin(self, seed, frames):
        """A reset. seed: of the lane; None: in the same game. frames: the lane's episode_frame_number after it. The
        last of the frames that are taken fires, if the option is set."""
        if seed is not None:
            picture = self.raw.reset(seed=seed)[0][0]
        wanted = frames - self.raw.state["episode_frame_number"][0]
        fires = self.options["use_fire_reset"]
        assert wanted >= (1 if fires or seed is None else 0)
        for left in reversed(range(wanted)):
            picture, _, over = self.frame(1 if fires and left == 0 else 0)
            assert not over, "the start of an episode in which the game is over is not told of here"
        self.stack.extend([self.shown(picture)] * self.stack.maxlen)
        self.lives = int(self.raw.state["lives"][0])
        return self.observation()

    def step(self, action):
        """Returns observation, reward, terminated and truncated."""
        skip, most = self.options["frameskip"], self.options["max_num_frames_per_episode"] or 2**31
        pictures, rewards, over, truncated, next_life = [], 0.0, False, False, False
        while len(pictures) < skip and not (over or truncated or next_life):
            picture, reward, over = self.frame(action)
            pictures.append(picture)
            rewards += reward
            truncated = self.raw.state["episode_frame_number"][0] >= most
            lives = int(self.raw.state["lives"][0])
            next_life = self.options["episodic_life"] and 0 < lives < self.lives
        self.lives = lives
        pools = self.options["maxpool"] and len(pictures) == skip > 1
        self.stack.append(self.shown(*pictures[-2 if pools else -1 :]))
        return self.observation(), rewards, over or next_life, truncated

    def machine(self):
        """What the console holds and shows after the last frame."""
        return {key: self.raw.state[key][0] for key in ("screen", "ram", "lives", "episode_frame_number")}

    def put(self, other):
        """Goes on where `other` is."""
        self.raw.restore(other.raw.snapshot())
        self.stack, self.lives = other.stack.copy(), other.lives
