"""Keeps what an env returns, per lane, to compare it with what a recording gives back."""

import numpy as np

from batchenv.recordings.leaves import flat


def plain(leaf):
    """An array of numbers, or of texts as objects."""
    if isinstance(leaf, np.ndarray):
        return leaf
    array = np.empty(len(leaf), object)
    array[:] = list(leaf)
    return array


class Kept:
    """An env whose results are kept.

    Attributes:
        lanes: of each lane, its steps: [(parts of the observation, reward, terminated, truncated, infos of numbers)].
        before: of each lane and number of steps, the parts of the observation that it had then.
    """

    def __init__(self, env):
        self.env = env
        self.lanes = [[] for _ in range(env.num_envs)]
        self.before = [{} for _ in range(env.num_envs)]

    def seen(self, observations, lanes=None):
        """Notes present observations, of all lanes or of rows of some."""
        parts = [np.array(plain(part)) for part in flat(observations)]
        lanes = range(self.env.num_envs) if lanes is None else lanes
        for row, lane in enumerate(lanes):
            self.before[lane][len(self.lanes[lane])] = [part[row] for part in parts]

    def took(self, result, lanes=None):
        """Notes a step, of all lanes or of some."""
        parts = [np.array(plain(part)) for part in flat(result[0])]
        rewards, ended, cut = (np.array(part) for part in result[1:4])
        infos = {name: np.array(value) for name, value in result[4].items()
                 if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and name != "env_id"}  # fmt: skip
        lanes = range(self.env.num_envs) if lanes is None else np.asarray(lanes).tolist()
        for row, lane in enumerate(lanes):
            own = {name: value[row] for name, value in infos.items()}
            self.lanes[lane].append(([part[row] for part in parts], rewards[row], ended[row], cut[row], own))
        self.seen(result[0], lanes)

    def reset(self, **keywords):
        observations, infos = self.env.reset(**keywords)
        self.seen(observations)
        return observations, infos

    def step(self, actions):
        result = self.env.step(actions)
        self.took(result)
        return result

    def steps(self, count, seed=0):
        """Random steps of all lanes."""
        self.env.action_space.seed(seed)
        for _ in range(count):
            self.step(self.env.action_space.sample())

    def check(self, recording, start=0, stop=None, lanes=None):
        """Compares a window with what was kept, bit for bit."""
        chosen = range(self.env.num_envs) if lanes is None else lanes
        stop = min(len(self.lanes[lane]) for lane in chosen) if stop is None else stop
        window = recording.window(start, stop, lanes)
        self.check_window(window, start, chosen)

    def check_window(self, window, start, chosen):
        parts, before = flat(window.observations), flat(window.before)
        previous = flat(window.previous())
        for column, lane in enumerate(chosen):
            for first, known in zip(before, self.before[lane][start], strict=True):
                assert same(first[column], known), (lane, start)
            for step in range(len(window.rewards)):
                observation, reward, ended, cut, infos = self.lanes[lane][start + step]
                where = (lane, start + step)
                for part, known in zip(parts, observation, strict=True):
                    assert same(part[step, column], known), where
                for part, known in zip(previous, self.before[lane][start + step], strict=True):
                    assert same(part[step, column], known), where
                assert same(window.rewards[step, column], reward), where
                assert window.terminations[step, column] == ended, where
                assert window.truncations[step, column] == cut, where
                for name, value in infos.items():
                    if not name.startswith("_") and infos.get(f"_{name}", True):
                        assert same(window.infos[name][step, column], value), (where, name)


def same(one, other):
    """Whether two values have the same bits, and the same dtype."""
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype.kind in "OU" or other.dtype.kind in "OU":
        return one.tolist() == other.tolist()
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()
