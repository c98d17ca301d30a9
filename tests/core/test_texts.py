"""Observations that are texts equal those of Gymnasium's vector environments, and cost nothing until they are read."""

import copy
import pickle
import re
import time

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from batchenv.integrations.gymnasium.single_env import SingleEnv
from batchenv.text import Texts, TextSpace
from helpers.lockstep import actions_of

LANES = 5
WORDS = ["go", "stop", "turn left", "über die Brücke", ""]
LETTERS = "abcdefghijklmnopqrstuvwxyz" * 40


class TextEnv(gymnasium.Env):
    """The rules of csrc/envs/testing/synthetic_text.c."""

    action_space = spaces.Discrete(4)

    def __init__(self, alone=False):
        self.alone = alone
        self.observation_space = spaces.Dict(
            place=spaces.Box(0, 255, (2,), np.uint8),
            word=TextSpace(WORDS),
            letters=TextSpace([LETTERS[:n] for n in range(900)]),
            told=spaces.Dict(sum=spaces.Text(2**20)),
        )
        if alone:
            self.observation_space = TextSpace(WORDS)

    def observation(self):
        a, b = self.sum
        if self.alone:
            return WORDS[self.word]
        return {
            "place": np.array([self.word, (a + b) % 256], np.uint8),
            "word": WORDS[self.word],
            "letters": LETTERS[: (a * 37 + b) % 2**64 % 900],
            "told": {"sum": f"{a} and {b} are {a + b}"},
        }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.word = int(self.np_random.integers(0, 5))
        self.sum = [int(self.np_random.integers(-9, 10)) for _ in range(2)]
        return self.observation(), {}

    def step(self, action):
        u = self.np_random.random()
        self.word = (self.word + int(action)) % 5
        self.sum[action & 1] += int(action)
        return self.observation(), float(self.word), u < 0.1, False, {}


IDS = {"SyntheticText-v0": False, "SyntheticWord-v0": True}
each_id = pytest.mark.parametrize("env_id", IDS)


def words_of(observation):
    """The texts of words in an observation of either id."""
    return observation["word"] if isinstance(observation, dict) else observation


def equal(ours, theirs):
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(equal(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, np.ndarray):
        return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    return isinstance(ours, type(theirs)) and ours == theirs and theirs == ours and (ours != theirs) is False


@each_id
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_parity(env_id, mode):
    ours = batchenv.make(env_id, LANES, autoreset_mode=mode)
    theirs = SyncVectorEnv(
        [lambda: gymnasium.wrappers.TimeLimit(TextEnv(IDS[env_id]), 40)] * LANES, autoreset_mode=AutoresetMode(mode)
    )
    if IDS[env_id]:
        assert ours.single_observation_space == theirs.single_observation_space
        assert ours.observation_space == theirs.observation_space
    assert equal(ours.reset(seed=7)[0], theirs.reset(seed=7)[0])
    ended = 0
    for action in actions_of(theirs, 120):
        result, right = ours.step(action), theirs.step(action)
        assert all(map(equal, result[:4], right[:4]))
        assert ours.observation_space.contains(result[0])
        assert ("final_obs" in result[4]) == ("final_obs" in right[4])
        for lane in np.flatnonzero(right[4].get("_final_obs", [])):
            assert equal(result[4]["final_obs"][lane], right[4]["final_obs"][lane])
            code = result[4]["final_info"]["text_code" if IDS[env_id] else "word_code"][lane]
            assert WORDS[code] == words_of(right[4]["final_obs"][lane])
        done = result[2] | result[3]
        ended += done.sum()
        if mode == "Disabled" and done.any():
            options = {"reset_mask": done}
            assert equal(ours.reset(options=options)[0], theirs.reset(options=options)[0])
    assert ended > 3 * LANES


@each_id
def test_codes_are_among_the_infos(env_id):
    env = batchenv.make(env_id, LANES)
    observation, infos = env.reset(seed=1)
    key = "text_code" if IDS[env_id] else "word_code"
    for _ in range(20):
        assert tuple(WORDS[code] for code in infos[key]) == words_of(observation)
        assert infos[f"_{key}"].all() and infos[key].dtype == np.int64
        if not IDS[env_id]:
            assert infos["told"]["sum_code"].shape == (LANES, 2)
            assert observation["told"]["sum"] == tuple(f"{a} and {b} are {a + b}" for a, b in infos["told"]["sum_code"])
        observation, _, _, _, infos = env.step(env.action_space.sample())
    mask = np.arange(LANES) == 2
    infos = env.reset(options={"reset_mask": mask})[1]
    assert infos[f"_{key}"].tolist() == mask.tolist()


@each_id
def test_rollouts_sends_and_steps_of_some_lanes(env_id):
    make = batchenv.make
    env, rolled, listed, queued = make(env_id, 4), make(env_id, 4), make(env_id, 4), make(env_id, 4, batch_size=2)
    for one in (env, rolled, listed):
        one.reset(seed=2)
    queued.async_reset(seed=2)
    for _ in range(2):
        queued.recv()
    actions = np.random.default_rng(0).integers(0, 4, (30, 4))
    rollout = rolled.rollout(actions)
    words = words_of(rollout.observations)
    assert len(words) == 30 and isinstance(words, tuple) and isinstance(words[0], tuple)
    for t, action in enumerate(actions):
        expected = words_of(env.step(action)[0])
        assert words[t] == expected and words[t, 1] == expected[1] and words[:, 2][t] == expected[2]
        assert words_of(listed.step(action[[3, 1]], [3, 1])[0]) == (expected[3], expected[1])
        listed.step(action[[0, 2]], [0, 2])
        for lanes in ([0, 2], [1, 3]):
            queued.send(action[lanes], np.array(lanes))
        for _ in range(2):
            observation, *_, infos = queued.recv()
            assert words_of(observation) == tuple(expected[lane] for lane in infos["env_id"])
    lanes = np.array([2, 0])
    observation, infos = env.reset(lanes)
    assert len(words_of(observation)) == 2 and words_of(observation) == tuple(
        WORDS[code] for code in infos["text_code" if IDS[env_id] else "word_code"]
    )


@pytest.mark.parametrize("keywords", [{}, {"copy": False}])
@pytest.mark.parametrize("with_out", [False, True])
def test_texts_stay_as_they_were(keywords, with_out):
    """Also those that are read only after many more steps."""
    env, other = (batchenv.make("SyntheticText-v0", LANES, **keywords) for _ in range(2))
    env.reset(seed=3)
    other.reset(seed=3)
    out = None
    if with_out:
        parts = {"place": None, "letters": None, "told": {"sum": np.empty((LANES, 2), np.int64)}}
        out = ({**parts, "word": np.empty(LANES, np.int64)}, None, None, None)
    kept, expected = [], []
    for _ in range(30):
        action = env.action_space.sample()
        observation = env.step(action, out=out)[0]
        kept.append((observation["word"], observation["told"]["sum"]))
        observation = other.step(action)[0]
        expected.append((tuple(observation["word"]), tuple(observation["told"]["sum"])))
        if with_out:
            assert tuple(WORDS[code] for code in out[0]["word"]) == expected[-1][0]
    env.close()
    del env
    assert kept == expected


def test_snapshots():
    env = batchenv.make("SyntheticText-v0", LANES)
    before, _ = env.reset(seed=5)
    saved = env.snapshot()
    env.step([1] * LANES)
    other = batchenv.make("SyntheticText-v0", LANES)
    for target in (env, other):
        assert equal(target.restore(saved), {**before, "word": tuple(before["word"])})


def test_a_texts_object_is_a_tuple_in_every_respect():
    env = batchenv.make("SyntheticWord-v0", LANES)
    texts, _ = env.reset(seed=1)
    plain = tuple([str(text) for text in texts])
    assert type(texts) is Texts and isinstance(texts, tuple) and type(plain) is tuple
    assert texts == plain and plain == texts and (texts != plain, plain != texts) == (False, False)
    assert hash(texts) == hash(plain) and {texts: 1}[plain] == 1
    assert len(texts) == LANES and bool(texts) and list(texts) == list(plain)
    assert texts[0] == plain[0] and texts[-1] == plain[-1] and texts[1:3] == plain[1:3]
    assert texts[np.array([3, 0])] == (plain[3], plain[0]) and texts[np.arange(LANES) > 3] == plain[4:]
    assert plain[2] in texts and "no such word" not in texts
    more = ("x",)
    assert texts + more == plain + more and more + texts == more + plain and texts * 2 == 2 * texts == plain * 2
    assert texts.count(plain[0]) == plain.count(plain[0]) and texts.index(plain[1]) == plain.index(plain[1])
    assert (texts < plain, texts <= plain, texts > plain, texts >= plain) == (False, True, False, True)
    assert list(reversed(texts)) == list(reversed(plain)) and repr(texts) == repr(plain) and str(texts) == str(plain)
    first, *rest = texts
    assert (first, *rest) == plain and [*texts] == [*plain] and (lambda *words: words)(*texts) == plain
    assert "|".join(texts) == "|".join(plain) and np.asarray(texts).tolist() == list(plain)
    for copied in (copy.copy(texts), copy.deepcopy(texts), pickle.loads(pickle.dumps(texts)), tuple(texts)):
        assert type(copied) is tuple and copied == plain
    with pytest.raises(IndexError):
        texts[LANES]
    rolled = env.rollout(3, policy="random", seed=1).observations
    for copied in (copy.deepcopy(rolled), pickle.loads(pickle.dumps(rolled))):
        assert type(copied) is tuple and copied == rolled and all(isinstance(words, tuple) for words in copied)


def test_the_space_of_listed_texts():
    space = batchenv.make("SyntheticWord-v0").single_observation_space
    assert isinstance(space, spaces.Text) and space == TextSpace(WORDS[::-1]) and space != TextSpace(WORDS[:-1])
    assert space != spaces.Text(20) and all(word in space for word in WORDS) and "og" not in space and 3 not in space
    space.seed(0)
    assert {space.sample() for _ in range(200)} == set(WORDS)
    copied = copy.deepcopy(space)
    assert [copied.sample() for _ in range(20)] == [space.sample() for _ in range(20)]
    assert pickle.loads(pickle.dumps(space)) == space
    batched = batchenv.make("SyntheticWord-v0", 300).observation_space
    assert len(set(batched.sample())) > 1  # not the same stream in each lane
    with pytest.raises(ValueError, match="leave out mask"):
        space.sample(mask=1)


def test_a_code_without_a_text():
    """The lane, not the user, is told: by type, port, code and rule."""
    rule = "type SyntheticText: lanes wrote the code 9 through the port '', which stands for no text: codes are 0 to 4"
    env = batchenv.make("SyntheticWord-v0", 1, broken=True)
    texts, infos = env.reset(seed=4)
    code = int(infos["text_code"][0])
    with pytest.raises(ValueError, match=re.escape(rule.replace("code 9", f"code {code}"))):
        texts[0]


@pytest.mark.parametrize(
    ("keywords", "rule"),
    [
        ({"frame_stack": 2}, "frame_stack: only observations of numbers can be transformed so"),
        ({"normalize_observation": True}, "normalize_observation=True needs Box observations"),
        ({"rescale_observation": (0, 1)}, "rescale_observation.* only observations of numbers"),
    ],
)
def test_texts_cannot_be_transformed(keywords, rule):
    with pytest.raises((ValueError, TypeError), match=rule):
        batchenv.make("SyntheticWord-v0", 2, **keywords)


@pytest.mark.parametrize(
    ("shows", "parts"),
    [("all", {"place", "word", "letters", "told"}), ("texts", {"word", "letters", "told"}), ("place", {"place"})],
)
def test_parts_may_be_left_out(shows, parts):
    env, whole = batchenv.make("SyntheticText-v0", LANES, shows=shows), batchenv.make("SyntheticText-v0", LANES)
    assert set(env.single_observation_space.spaces) == parts
    observation, other = env.reset(seed=3)[0], whole.reset(seed=3)[0]
    for _ in range(30):
        assert equal(observation, {key: other[key] for key in parts})
        action = env.action_space.sample()
        observation, other = env.step(action)[0], whole.step(action)[0]
    with pytest.raises(ValueError, match="these params change the shape of a space"):
        env.set_params(shows="word")


def test_texts_that_nobody_reads_cost_little():
    """With texts a step of 4,096 lanes takes less than a tenth of the time that making them would take."""
    env = batchenv.make("SyntheticText-v0", 4096, num_threads=1)
    env.reset(seed=0)
    action = np.ones(4096, np.int64)

    def seconds(read):
        start = time.perf_counter()
        for _ in range(20):
            observation = env.step(action)[0]
            if read:
                for texts in (observation["word"], observation["letters"], observation["told"]["sum"]):
                    assert len(list(texts)) == 4096
        return time.perf_counter() - start

    assert min(seconds(False) for _ in range(5)) < 0.5 * min(seconds(True) for _ in range(3))


def test_a_single_env_gives_texts():
    single, env = SingleEnv("SyntheticText-v0"), batchenv.make("SyntheticText-v0")
    observation, infos = single.reset(seed=3)
    expected, _ = env.reset(seed=3)
    for _ in range(10):
        assert observation in single.observation_space and type(observation["word"]) is str
        assert observation["word"] == expected["word"][0] == WORDS[infos["word_code"]]
        observation, _, terminated, _, infos = single.step(2)
        expected = env.step([2])[0]
        if terminated:
            break


def test_other_apis():
    """They give texts, or say in which form they cannot."""
    dm = batchenv.make("SyntheticText-v0", LANES, env_type="dm")
    spec = dm.observation_spec().obs["word"]
    step = dm.reset()
    assert spec.string_type is str and isinstance(step.observation.obs["word"], tuple)
    spec.validate(np.array(step.observation.obs["word"][0], dtype=object))
    env = batchenv.make("SyntheticText-v0", LANES, env_type="envpool_gym")
    assert isinstance(env.reset()["word"][0], str)
