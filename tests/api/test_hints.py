"""What errors say about ids and keywords that batchenv does not know."""

import inspect
import re

import gymnasium
import pytest

import batchenv
from batchenv.arguments import other_packages
from batchenv.arguments.messages import OF_PYTHON, similar_ids
from helpers.project import ROOT


def refusal(*arguments, **keywords):
    with pytest.raises((TypeError, ValueError)) as caught:
        batchenv.make(*arguments, **keywords)
    return str(caught.value)


@pytest.mark.parametrize(
    "wrong, right",
    [
        ("CartPol-v1", ["CartPole-v1"]),
        ("cartpole-v1", ["CartPole-v1"]),
        ("CartPole", ["CartPole-v0", "CartPole-v1"]),
        ("CartPole-v7", ["CartPole-v0", "CartPole-v1"]),
        ("batchenv/CartPole-v2", ["CartPole-v0", "CartPole-v1"]),
        ("Taxi-v3", ["Taxi-v4"]),
        ("Ant-v3", ["Ant-v4", "Ant-v5"]),
        ("Swimer-v5", ["Swimmer-v5"]),
        ("Walker-v4", ["Walker2d-v4"]),
        ("Pong-v4", ["Pong-v5"]),
        ("ALE/Pong-v4", ["ALE/Pong-v5"]),
        ("PongNoFrameskip-v0", ["PongNoFrameskip-v4"]),
        ("Breakout", ["Breakout-v5"]),
        ("Meta-World/mt10", ["Meta-World/MT10"]),
        ("Meta-World/ML10", ["Meta-World/ML10-train", "Meta-World/ML10-test"]),
    ],
)
def test_near_misses(wrong, right, monkeypatch):
    monkeypatch.delitem(gymnasium.registry, wrong, raising=False)  # ale-py registers old ids when it is imported
    text = refusal(wrong, 2)
    assert re.search(r"did you mean (.*?)\?", text)[1] == " or ".join(right)
    assert "batchenv new" not in text  # it is a slip, not another environment


FOREIGN = ["vizdooms/corridor-v0", "HumanoidMaze-v0", "merged", "Nope-v3", "", "Synthetic-v1", "synthetic"]


@pytest.mark.parametrize("env_id", FOREIGN)
def test_foreign_ids_get_the_scope_and_no_silly_hint(env_id):
    text = refusal(env_id, 2)
    assert "did you mean" not in text and "Synthetic-v0" not in text
    for part in (
        repr(env_id),
        "make_mujoco",
        "If another package has it, import that package first",
        "batchenv.make_python",
        "python -m batchenv new NAME",
    ):
        assert part in text


ELSEWHERE = [  # an id that EnvPool or the package has, the package, and the id in what is to be written
    ("Craftax/Classic-Symbolic-v1", "craftax", ""),
    ("gfootball/academy_3_vs_1_with_keeper-v1", "gfootball", ""),
    ("merge-v0", "highway-env", "highway_env:highway-v0"),
    ("HighwayFast-v0", "highway-env", "highway_env:highway-v0"),
    ("Jumanji/RubiksCube-partly-scrambled-v0", "jumanji", ""),
    ("Maze-v0", "jumanji", ""),
    ("MarlGrid-3AgentEmpty9x9-v0", "marlgrid", ""),
    ("DmcRodentRunGaps-v1", "shimmy", ""),
    ("dm_control/locomotion/soccer_ant", "shimmy", ""),
    ("Mjlab-Velocity-Rough-Unitree-G1", "mjlab", ""),
    ("MyoSuite/myoElbowPose1D6MRandom-v0", "myosuite", "myosuite:myoElbowPose1D6MRandom-v0"),
    ("PandaPickCube-v1", "playground", ""),
    ("Go9x9-v1", "pgx", ""),
    ("D1Basic-v1", "vizdoom", "vizdoom.gymnasium_wrapper:VizdoomBasic-v1"),
    ("MiniGrid-WFC-MazeSimple-v0", "minigrid", "minigrid:MiniGrid-WFC-MazeSimple-v0"),
]


@pytest.mark.parametrize("env_id, package, written", ELSEWHERE)
def test_families_of_other_packages_are_named(env_id, package, written, monkeypatch):
    monkeypatch.delitem(gymnasium.registry, env_id, raising=False)
    for make in (batchenv.make, batchenv.make_python):
        with pytest.raises(ValueError, match=re.escape(repr(env_id))) as caught:
            make(env_id, 2)
        text = str(caught.value)
        assert "did you mean" not in text and re.search(f"pip install '?{package}", text) and written in text
        assert "batchenv.make" in text


def test_families_elsewhere_have_no_id_that_is_here():
    assert not [env_id for env_id in batchenv.list_envs() if other_packages.family_of(env_id)]
    assert {other_packages.family_of(env_id) for env_id, *_ in ELSEWHERE} == set(other_packages.FAMILIES)


def test_the_documentation_has_every_family():
    rows = [
        line
        for line in (ROOT / "docs" / "reference" / "from-envpool.md").read_text().splitlines()
        if line.startswith("| `")
    ]
    for family in other_packages.FAMILIES:
        package = re.match("'?([a-z-]+)", family.package)[1]
        assert any(f"`{family.pool}`" in row and f"`{package}" in row for row in rows), family


def test_an_environment_that_has_no_single_ones(monkeypatch):
    spec = gymnasium.envs.registration.EnvSpec("Vector-v0", vector_entry_point="x:Y")
    monkeypatch.setitem(gymnasium.registry, "Vector-v0", spec)
    assert "only gymnasium.make_vec('Vector-v0', num_envs) steps it" in refusal("Vector-v0", 2)
    with pytest.raises(ValueError, match=r"'Vector-v0' makes no single environments, only gymnasium\.make_vec"):
        batchenv.make_python("Vector-v0", 2)


def test_hidden_environments_are_never_suggested():
    assert not batchenv.registry.TABLE["Synthetic-v0"].listed
    for listed in batchenv.list_envs():
        assert similar_ids(listed, batchenv.list_envs()) == [listed]


def test_long_ids_are_cut():
    assert len(refusal("x" * 5000, 2)) < 1000


class Own(gymnasium.Env):
    """An environment in Python."""


@pytest.mark.parametrize("thing", [Own, Own(), lambda: Own()], ids=["class", "env", "function"])
def test_environments_in_python(thing):
    text = refusal(thing, 2)
    for part in ("must be a str", "batchenv.make_python", "python -m batchenv new NAME"):
        assert part in text


def test_specs():
    assert "pass its id, 'CartPole-v1'" in refusal(gymnasium.spec("CartPole-v1"), 2)


@pytest.mark.parametrize(
    "wrong, right",
    [
        ("num_thread", "num_threads"),
        ("gravty", "gravity"),
        ("max_episode_step", "max_episode_steps"),
        ("autoreset", "autoreset_mode"),
        ("rewardscale", "reward_scale"),
    ],
)
def test_mistyped_keywords(wrong, right):
    assert f"CartPole-v1 has no parameter '{wrong}': did you mean {right}?" in refusal("CartPole-v1", 4, **{wrong: 2})


def test_unknown_keywords_list_what_there_is():
    text = refusal("CartPole-v1", 4, wind=2)
    assert "did you mean" not in text
    for name in ("masspole", "sutton_barto_reward", "num_threads", "normalize_observation", "thread_affinity"):
        assert name in text


@pytest.mark.parametrize("env_id", ["CartPole-v1", "CarRacing-v3"])
@pytest.mark.parametrize(
    "keyword, instead",
    [
        ("wrappers", ["record_episode_statistics=True", "gymnasium.wrappers.vector", "batchenv.make_python"]),
        ("vectorization_mode", ["leave it out", "workers='processes'"]),
        ("vector_kwargs", ["as keywords"]),
    ],
)
def test_keywords_of_make_vec_say_what_to_write(env_id, keyword, instead):
    text = refusal(env_id, 2, **{keyword: []})
    assert f"{env_id} has no parameter '{keyword}'" in text and all(part in text for part in instead)


def test_keywords_of_environments_in_python():
    taken = set(inspect.signature(batchenv.make_python).parameters)
    assert set(OF_PYTHON) == taken - {"make_env", "num_envs", "env_type", "kwargs"}
    for keyword in OF_PYTHON:
        assert "is for environments in Python; this one is in C" in refusal("CartPole-v1", 2, **{keyword: 1})
    assert "frame_stack is what stacks" in refusal("CartPole-v1", 2, stack_num=4)


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_missing_package_of_an_environment_in_python_is_named(lanes, monkeypatch):
    spec = gymnasium.envs.registration.EnvSpec("far/CartPole-v1", entry_point="a_module_that_is_not:Env")
    monkeypatch.setitem(gymnasium.registry, spec.id, spec)
    words = r"far/CartPole-v1 is written in Python .* module 'a_module_that_is_not', .* runs CartPole-v1 in C"
    with pytest.raises(ModuleNotFoundError, match=words):
        batchenv.make(spec.id, lanes)


def test_parameters_of_lanes():
    env = batchenv.make("CartPole-v1", 4)
    with pytest.raises(TypeError, match=r"has no parameter 'gravty': did you mean gravity\?"):
        env.set_params(gravty=2)
    with pytest.raises(TypeError, match=r"has no parameter 'wind'; it has: .*gravity"):
        env.set_params(wind=2)


def test_fields_of_mujocos_model_are_named():
    pytest.importorskip("mujoco", reason="needs mujoco: pip install 'batchenv[mujoco]'")
    env = batchenv.make("Hopper-v5", 2)
    with pytest.raises(TypeError, match=r"no parameter 'torso_mass'; it has: .*; fields of MuJoCo.*body_mass"):
        env.set_params(torso_mass=1)
    with pytest.raises(TypeError, match="did you mean body_mass"):
        env.set_params(body_mas=1)
    assert "fields of MuJoCo's model" in refusal("Hopper-v5", 2, torso_mass=1)


def test_options_of_a_mujoco_model_say_how_episodes_start():
    pytest.importorskip("mujoco", reason="needs mujoco: pip install 'batchenv[mujoco]'")
    xml = """<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
        <actuator><motor joint="j"/></actuator></mujoco>"""
    env = batchenv.make_mujoco(xml, 2)
    with pytest.raises(ValueError, match=r"options=\{'qpos': 1\}.*qpos0.*qpos_noise and qvel_noise.*env\.restore\(\)"):
        env.reset(options={"qpos": 1})
    with pytest.raises(ValueError, match=r"Hopper-v5 has no such reset option; it has: 'reset_mask'$"):
        batchenv.make("Hopper-v5", 2).reset(options={"qpos": 1})


def test_settings_of_mujocos_pictures_are_checked_before_anything_is_drawn():
    mujoco = pytest.importorskip("mujoco", reason="needs mujoco: pip install 'batchenv[mujoco]'")
    for keywords, told in (
        ({"default_camera_config": {"distanc": 4.0}}, "no setting 'distanc': did you mean 'distance'"),
        ({"default_camera_config": [4.0]}, "must be a dict or None, not list"),
        ({"visual_options": {"mjVIS_JOINT": True}}, "'mjVIS_JOINT' must be a flag, such as mujoco.mjtVisFlag"),
        ({"visual_options": {31: True}}, "31 must be a flag"),
    ):
        assert told in refusal("Hopper-v5", 1, **keywords)
    flags = {mujoco.mjtVisFlag.mjVIS_JOINT: True, 3: False}
    batchenv.make("Hopper-v5", 1, default_camera_config={"distance": 4.0}, visual_options=flags).close()
