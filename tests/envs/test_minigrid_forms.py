"""MiniGrid's forms of observations, pictures, keywords and lane attributes equal those of the package minigrid."""

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import batchenv
from helpers.minigrid_solver import Solver
from helpers.project import ROOT

pytest.importorskip("minigrid")
from minigrid import wrappers
from minigrid.core.grid import Grid
from minigrid.core.world_object import Ball, Box, Door, Floor, Goal, Key, Lava, Wall

from helpers.begun import begun

LANES = 3
WRAPPERS = {
    "dict": lambda env: env,
    "image": wrappers.ImgObsWrapper,
    "flat": wrappers.FlatObsWrapper,
    "full": wrappers.FullyObsWrapper,
    "one_hot": wrappers.OneHotPartialObsWrapper,
    "symbolic": wrappers.SymbolicObsWrapper,
    "rgb_partial": wrappers.RGBImgPartialObsWrapper,
    "rgb_full": wrappers.RGBImgObsWrapper,
}
IDS = ["MiniGrid-DoorKey-6x6-v0", "MiniGrid-ObstructedMaze-1Dlhb-v0", "MiniGrid-LavaCrossingS9N1-v0"]
CARRYING = "BabyAI-PutNextS5N2Carrying-v0"  # the grid changes after the level's reset has made its observation


def equal(ours, theirs):
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(equal(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, tuple):
        return ours == theirs
    return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)


def follow(ours, theirs, steps, looked_at, seed=3):
    """Steps both with a solver's actions, some of them random, and looks at each step's result. Returns how many
    episodes have ended."""
    assert equal(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
    solver, ended, count = Solver(ours, seed, noise=0.2), np.ones(ours.num_envs, bool), 0
    for _ in range(steps):
        action = solver.actions(ended)
        result, right = ours.step(action), theirs.step(action)
        assert all(map(equal, result[:4], right[:4]))
        looked_at(result)
        ended = result[2] | result[3]
        count += int(ended.sum())
    return count


@pytest.mark.cases(1, per="form")
@pytest.mark.parametrize("env_id", [*IDS, CARRYING])
@pytest.mark.parametrize("form", WRAPPERS)
def test_forms_are_those_of_the_wrappers(env_id, form):
    ours = batchenv.make(env_id, LANES, observation=form)
    theirs = SyncVectorEnv([lambda: WRAPPERS[form](gymnasium.make(env_id))] * LANES)
    assert follow(ours, theirs, 60, lambda result: result[0] in ours.observation_space) or "Maze" in env_id
    space, other = ours.single_observation_space, theirs.single_observation_space
    if form in ("image", "flat"):
        assert space == other
    else:
        assert space["image"] == other["image"] and space["direction"] == other["direction"]
        if env_id.startswith("MiniGrid-DoorKey"):
            assert space["mission"] == other["mission"]


@pytest.mark.parametrize(
    ("form", "keywords", "wrap"),
    [
        ("rgb_partial", {"observation_tile_size": 5}, lambda env: wrappers.RGBImgPartialObsWrapper(env, tile_size=5)),
        ("rgb_full", {"highlight": False}, wrappers.RGBImgObsWrapper),
        ("rgb_partial", {"agent_view_size": 5}, wrappers.RGBImgPartialObsWrapper),
        ("dict", {"agent_view_size": 9}, lambda env: wrappers.ViewSizeWrapper(env, 9)),
        ("one_hot", {"see_through_walls": True}, wrappers.OneHotPartialObsWrapper),
    ],
)
@pytest.mark.parametrize("image_only", [False, True])
def test_keywords_of_forms(form, keywords, wrap, image_only):
    env_id = IDS[0]
    theirs_keywords = {name: value for name, value in keywords.items() if name != "observation_tile_size"}

    def make():
        env = wrap(gymnasium.make(env_id, **theirs_keywords))
        return wrappers.ImgObsWrapper(env) if image_only else env

    ours = batchenv.make(env_id, LANES, observation=form, image_only=image_only, **keywords)
    follow(ours, SyncVectorEnv([make] * LANES), 40, lambda _: None)


def test_tokens_are_those_of_the_wrapper():
    for env_id in ("MiniGrid-GoToDoor-6x6-v0", "MiniGrid-Fetch-5x5-N2-v0", "MiniGrid-LockedRoom-v0"):
        ours = batchenv.make(env_id, LANES, mission="tokens")
        theirs = SyncVectorEnv([lambda: wrappers.DictObservationSpaceWrapper(gymnasium.make(env_id))] * LANES)  # noqa: B023
        assert ours.single_observation_space["mission"].shape == (50,)
        for seed in range(5):
            assert equal(ours.reset(seed=seed)[0]["mission"], theirs.reset(seed=seed)[0]["mission"])
    assert batchenv.make(env_id, mission="tokens", max_words=30).reset(seed=0)[0]["mission"].shape == (1, 30)
    with pytest.raises(batchenv.LaneError, match="too many words: set max_words to more"):
        batchenv.make(env_id, mission="tokens", max_words=5).reset(seed=0)


def test_the_documentation_lists_the_words_of_tokens():
    page = (ROOT / "docs" / "envs" / "minigrid.md").read_text(encoding="utf-8")
    words = " ".join(line[2:] for line in page.splitlines() if line.startswith("> ")).split()
    assert words[:51] == list(wrappers.DictObservationSpaceWrapper.get_minigrid_words())
    for env_id in ("MiniGrid-GoToDoor-6x6-v0", "MiniGrid-LockedRoom-v0", "BabyAI-BossLevel-v0", "BabyAI-PickupLoc-v0"):
        tokens, texts = (batchenv.make(env_id, 30, mission=form, max_words=90) for form in ("tokens", "text"))
        assert tokens.single_observation_space["mission"].nvec.tolist() == [len(words) + 1] * 90
        rows, missions = tokens.reset(seed=0)[0]["mission"], texts.reset(seed=0)[0]["mission"]
        for row, mission in zip(rows.tolist(), missions, strict=True):
            assert [words[token - 1] for token in row if token] == mission.replace(",", " ,").split()


def test_codes_of_missions():
    env, texts = (batchenv.make("MiniGrid-GoToDoor-6x6-v0", 20, mission=form) for form in ("codes", "text"))
    codes, missions = env.reset(seed=0)[0]["mission"], texts.reset(seed=0)[0]["mission"]
    assert codes.dtype == np.int64 and codes.tolist() == texts.reset(seed=0)[1]["mission_code"].tolist()
    assert len(set(zip(codes.tolist(), missions, strict=True))) == len(set(missions)) > 3
    assert int(env.single_observation_space["mission"].n) == len(texts.single_observation_space["mission"].texts)


GALLERY = """
#include "minigrid.h"
enum { X = MG_NUM_PARAMS, Y, LOOKS, SEE_THROUGH };
static const be_param params[] = {
    MG_PARAMS,
    [X] = MG_SIDE("x", 1, 0, "the agent's column"),
    [Y] = MG_SIDE("y", 1, 0, "the agent's row"),
    [LOOKS] = {"looks", BE_PARAM_INT, 0, 0, 3, NULL, "the agent's direction"},
    [SEE_THROUGH] = MG_SEE_THROUGH_WALLS,
    {0},
};
static int plan(const double *values, mg_plan *plan, be_error *error) {
    (void)values, (void)error;
    plan->width = MG_NUM_KINDS, plan->height = MG_NUM_COLORS, plan->max_steps = 9;
    return BE_OK;
}
static void generate(mg_lane *lane) {
    for (int kind = MG_WALL; kind < MG_NUM_KINDS; kind++) {
        for (int color = 0; color < MG_NUM_COLORS; color++) mg_put(lane, MG_CELL(kind, color), kind, color);
    }
    lane->agent = (mg_point){(int)mg_param(lane, X), (int)mg_param(lane, Y)};
    lane->direction = (int)mg_param(lane, LOOKS);
}
static const mg_level level = {.plan = plan, .generate = generate};
static const be_id ids[] = {{"MiniGridGallery-v0"}, {0}};
MINIGRID_LEVEL(minigrid_gallery, "MiniGridGallery", level, params, ids, MG_MISSION("look"));
"""


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """The id of a level that has one of each object in each color."""
    path = tmp_path_factory.mktemp("levels") / "gallery.c"
    path.write_text(GALLERY)
    batchenv.compile(path)
    return "MiniGridGallery-v0"


def test_every_tile_equals_the_references(gallery):
    """In all colors, at several sizes, with and without light, and agents in all directions where they can stand."""
    grid = Grid(12, 6)
    for y, color in enumerate(("red", "green", "blue", "purple", "yellow", "grey")):
        things = [Wall(color), Floor(color), Door(color, is_open=True), Door(color), Door(color, is_locked=True)]
        things += [Key(color), Ball(color), Box(color), Goal(), Lava()]
        things[8].color, things[9].color = color, color
        for x, thing in enumerate(things, 2):
            grid.set(x, y, thing)
    for size in (1, 3, 8, 11):
        for k, (x, y) in enumerate([(1, 1), (3, 2), (4, 4), (10, 1), (11, 0)] * 2):
            looks, lit = k % 4, k < 5
            keywords = {"x": x, "y": y, "looks": looks, "tile_size": size, "highlight": lit, "see_through_walls": True}
            env = begun(batchenv.make(gallery, render_mode="rgb_array", agent_view_size=63, **keywords))
            mask = np.zeros((12, 6), bool)
            for i in range(12):
                for j in range(6):
                    dx, dy = [(1, 0), (0, 1), (-1, 0), (0, -1)][looks]
                    mask[i, j] = lit and (i - x) * dx + (j - y) * dy >= 0
            theirs = grid.render(size, (x, y), looks, mask)
            assert np.array_equal(env.render()[0], theirs), (size, x, y, looks, lit)


@pytest.mark.parametrize("keywords", [{}, {"agent_pov": True}, {"highlight": False}, {"tile_size": 13}])
def test_pictures(keywords):
    env_id = IDS[1]
    ours = batchenv.make(env_id, 2, render_mode="rgb_array", **keywords)
    theirs = SyncVectorEnv([lambda: gymnasium.make(env_id, render_mode="rgb_array", **keywords)] * 2)

    def look(_):
        for mine, env in zip(ours.render(), theirs.envs, strict=True):
            assert mine.dtype == np.uint8 and np.array_equal(mine, env.render())

    follow(ours, theirs, 25, look)


def test_pictures_that_are_held_are_not_drawn_over():
    env = begun(batchenv.make(IDS[1], 3, render_mode="rgb_array"))
    whole, _, part = env.render()[0], env.render()[1], env.render()[2][5:]
    expected = whole.copy(), part.copy()
    for lanes in (None, 1, None):  # of memory that nobody holds, too
        env.step(env.action_space.sample())
        shown = env.render(lanes)
        assert not any(np.may_share_memory(picture, held) for picture in shown for held in (whole, part))
    assert np.array_equal(whole, expected[0]) and np.array_equal(part, expected[1])
    other = begun(batchenv.make(IDS[1], 2, render_mode="rgb_array", tile_size=9))
    before = other.render()
    env.render()
    again = other.render()
    assert all(np.array_equal(*pair) and not np.may_share_memory(*pair) for pair in zip(before, again, strict=True))


@pytest.mark.parametrize("keywords", [{}, {"agent_pov": True, "screen_size": 500}])
def test_windows(keywords, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")

    def shown(env, actions):
        env.reset(seed=3)
        sheets = [pygame.surfarray.array3d(pygame.display.get_surface())]
        for action in actions:
            env.step(action)
            sheets.append(pygame.surfarray.array3d(pygame.display.get_surface()))
        env.close()
        return np.array(sheets)

    name, actions = "MiniGrid-GoToDoor-6x6-v0", (0, 2, 1)
    theirs = shown(gymnasium.make(name, render_mode="human", disable_env_checker=True, **keywords), actions)
    ours = shown(batchenv.make(name, 1, render_mode="human", **keywords), [[action] for action in actions])
    assert np.ptp(ours, axis=0).any() and np.array_equal(ours, theirs)


def test_videos(tmp_path):
    pytest.importorskip("moviepy")
    env = gymnasium.wrappers.vector.RecordVideo(
        batchenv.make(IDS[0], 2, render_mode="rgb_array", max_steps=5), str(tmp_path), episode_trigger=lambda _: True
    )
    env.reset(seed=0)
    for _ in range(8):
        env.step([0, 0])
    env.close()
    assert list(tmp_path.glob("*.mp4"))


def test_lane_attributes():
    ours, theirs = batchenv.make(IDS[1], LANES), SyncVectorEnv([lambda: gymnasium.make(IDS[1])] * LANES)
    carried = []

    def look(_):
        for name in ("agent_pos", "agent_dir", "step_count", "mission", "max_steps", "width", "height", "front_pos"):
            assert all(map(np.array_equal, ours.get_attr(name), theirs.get_attr(name))), name
        for mine, other in zip(ours.get_attr("carrying"), theirs.get_attr("carrying"), strict=True):
            carried.append(mine)
            assert mine == (None if other is None else other.encode())
        for mine, other in zip(ours.get_attr("grid"), theirs.get_attr("grid"), strict=True):
            assert np.array_equal(mine.encode(), other.encode())
            assert mine.get(1, 1) == (None if other.get(1, 1) is None else other.get(1, 1).encode())

    follow(ours, theirs, 60, look)
    assert len(set(carried)) > 2


@pytest.mark.parametrize(
    ("env_id", "keywords"),
    [
        ("MiniGrid-Empty-8x8-v0", {"agent_start_pos": None}),
        ("MiniGrid-Empty-8x8-v0", {"agent_start_pos": (3, 4), "agent_start_dir": 2, "size": 7}),
        ("MiniGrid-FourRooms-v0", {"agent_pos": (2, 2), "goal_pos": (15, 3)}),
        ("MiniGrid-LavaCrossingS9N1-v0", {"obstacle_type": Wall}),
        ("MiniGrid-DoorKey-8x8-v0", {"max_steps": None, "size": 9}),
    ],
)
def test_keywords_are_minigrids(env_id, keywords):
    ours = batchenv.make(env_id, LANES, **keywords)
    theirs = SyncVectorEnv([lambda: gymnasium.make(env_id, **keywords)] * LANES)
    follow(ours, theirs, 40, lambda _: None)
    again = pickle.loads(pickle.dumps(ours))
    assert again.get_attr("agent_pos") == ours.get_attr("agent_pos")
    assert again.get_attr("max_steps") == theirs.get_attr("max_steps")


@pytest.mark.parametrize(
    ("keywords", "error", "rule"),
    [
        ({"agent_start_pos": 3}, TypeError, "agent_start_pos=3 must be None or a pair"),
        ({"agent_start_pos": (1, -2)}, ValueError, r"agent_start_pos\[1\]=-2 must be"),
        ({"agent_view_size": 4}, ValueError, "agent_view_size=4 must be an odd number"),
        ({"observation": "picture"}, ValueError, "observation='picture' must be one of"),
        ({"mission": None}, ValueError, "mission=None must be one of"),
        ({"observation_tile_size": 0}, ValueError, "observation_tile_size=0 must be"),
        ({"screen_size": "big"}, TypeError, "screen_size='big' must be"),
    ],
)
def test_bad_keywords(keywords, error, rule):
    with pytest.raises(error, match=rule):
        batchenv.make("MiniGrid-Empty-5x5-v0", 2, **keywords)


def test_forms_take_part_in_everything():
    """Rollouts, snapshots and steps of some lanes have the words of missions and the pictures, too."""
    for keywords in ({"mission": "tokens"}, {"observation": "flat"}, {"observation": "rgb_partial"}):
        env, other = (batchenv.make("MiniGrid-GoToDoor-6x6-v0", 5, **keywords) for _ in range(2))
        env.reset(seed=1)
        other.reset(seed=1)
        actions = np.random.default_rng(0).integers(0, 7, (40, 5))
        rollout = other.rollout(actions)
        for t, action in enumerate(actions):
            if t == 20:
                saved = env.snapshot()
            observation = env.step(action)[0]
            for part in observation.keys() - {"mission"} if isinstance(observation, dict) else ():
                assert np.array_equal(rollout.observations[part][t], observation[part])
        expected = env.step(actions[0])[0]
        env.restore(saved)
        for action in [*actions[20:], actions[0]]:
            observation = env.step(action)[0]
        assert equal(observation, {**expected} if isinstance(expected, dict) else expected)
