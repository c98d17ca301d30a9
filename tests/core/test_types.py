"""Env types describe themselves: what their C files say is what registries have."""

import re

import pytest

import batchenv
from batchenv import _core
from batchenv.registry import TABLE
from helpers.project import ROOT

# Files without a table of ids are the rooms of a family, which its other files use.
SOURCES = [path for path in sorted((ROOT / "csrc/envs").glob("**/*.c")) if "be_id " in path.read_text()]


def test_types_without_a_file_of_their_own_are_listed_too():
    names = [kind["name"] for kind in _core.env_types()]
    assert len(set(names)) == len(names)
    assert {"CartPole", "NChain", "Synthetic", "Atari", "Hopper", "AntV4"} <= set(names)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_an_env_file_is_all_that_its_ids_need(source):
    tables = re.findall(r"be_id \w+\[\] = \{(.*?\{0\},?)\s*\};", source.read_text(), re.DOTALL)
    ids = [row for table in tables for row in re.findall(r'\{"([^"/]+)"(?:, (\d+))?', table) if "-v" in row[0]]
    assert ids
    for name, limit in ids:
        assert TABLE[name].max_episode_steps == (int(limit) if limit else None)
        batchenv.make(name, 2).close()


def test_settings_of_an_id():
    assert TABLE["CliffWalkingSlippery-v1"].kwargs == {"is_slippery": True}
    assert TABLE["Blackjack-v1"].kwargs == {"sab": True, "natural": False}
    assert TABLE["FrozenLake8x8-v1"].kwargs == {"map_name": "8x8"}
    assert TABLE["CartPole-v1"].kwargs == {}
    assert TABLE["Pendulum-v1"].reward_threshold is None and TABLE["CartPole-v1"].reward_threshold == 475.0


def test_what_is_for_tests_is_not_listed():
    assert not TABLE["Synthetic-v0"].listed and "Synthetic-v0" not in batchenv.list_envs()
