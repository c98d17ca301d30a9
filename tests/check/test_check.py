"""batchenv.check_vector_env: each check catches what it is for, and ours and a plain good env pass."""

import functools
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import walk_envs
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import ClipReward

import batchenv
from batchenv.check import ConformanceError, check_vector_env
from batchenv.check.rules import CHECKS
from batchenv.check.run import FIRST
from batchenv.check.steps import _misfit as misfit
from batchenv.check.steps import _outside as outside
from batchenv.check.target import resolve
from batchenv.check.trial import difference, essence, same
from helpers import ids
from helpers.processes import command_line, first_on_path, python, run_python, succeeded
from helpers.project import ROOT

PAGE = ROOT / "docs" / "reference" / "conformance.md"

TESTS = os.path.dirname(__file__)
MODES = [mode.value for mode in AutoresetMode]


@pytest.mark.cases(5)
@pytest.mark.parametrize("env_id", ids.ALL)
def test_ours_pass(env_id):
    # As in Gymnasium, BipedalWalker's episodes depend on those before them, unless that is switched off.
    more = {"fresh_world": True} if env_id.startswith("Bipedal") else {}
    report = check_vector_env(functools.partial(batchenv.make, env_id, max_episode_steps=30, **more))
    assert report.passed, str(report)
    assert report.modes == MODES
    # Of a toy's few starts many are alike, and a game of Blackjack may end at once; all else is looked at.
    reasons = ("the action space is ", "of episodes start alike", "an episode ended within 2 steps")
    assert [r for r in report.skipped if not any(reason in r.detail for reason in reasons)] == []


@pytest.mark.parametrize("walk", [walk_envs.Walk, walk_envs.Slide, walk_envs.Parts, walk_envs.Planned])
def test_a_good_env_passes(walk):
    report = check_vector_env(walk)
    assert report.passed, str(report)
    assert report.modes == MODES
    reasons = {result.name for result in report.skipped}
    of_plans = set() if walk is walk_envs.Planned else {"plans_of_seeds", "plans_of_snapshots"}
    assert reasons <= {"spec_round_trip", "nan_actions_raise", "actions_out_of_range_raise"} | of_plans


def test_every_check_has_a_broken_env():
    assert set(walk_envs.BROKEN) == {check.name for check in CHECKS}
    pages = [ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
    told = {page.stem: re.findall(r"(\d+)\s+rules", page.read_text(encoding="utf-8")) for page in pages}
    assert told["conformance"] and told["CHANGELOG"]
    assert {number for numbers in told.values() for number in numbers} == {str(len(CHECKS))}


def test_the_page_lists_the_rules():
    """`python tools/generate/list_rules.py` writes the list again."""
    rules = succeeded(python(ROOT / "tools" / "generate" / "list_rules.py", "--print", PYTHONSAFEPATH=None))
    text = " ".join(rules.split())
    assert all(f"- **{check.name}**" in text and check.rule in text for check in CHECKS)
    assert rules in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", walk_envs.BROKEN)
def test_a_broken_env_fails_exactly_its_check(name):
    broken, mode = walk_envs.BROKEN[name]
    report = check_vector_env(broken if mode is None else lambda num_envs: broken(num_envs, mode))
    assert {result.name for result in report.failures} == {name}, str(report)
    assert not report.passed
    with pytest.raises(ConformanceError, match=name):
        report.raise_on_failure()
    check = next(check for check in CHECKS if check.name == name)
    assert check.rule in str(report) and check.why in str(report)
    assert all(result.detail for result in report.failures)


@pytest.mark.parametrize(
    ("broken", "part"),
    [
        (walk_envs.OtherNames, "the parts ['age', 'where'] instead of ['age', 'place']"),
        (walk_envs.OtherParts, "instead of MultiDiscrete([20 20 20]) in age"),
    ],
)
def test_spaces_of_several_parts_are_alike_part_by_part(broken, part):
    report = check_vector_env(broken)
    assert {result.name for result in report.failures} == {"observation_space_is_batched"}
    assert all("for 3 lanes of Dict(" in result.detail for result in report.failures)
    assert all(result.detail.endswith(part) for result in report.failures)


def test_the_name_of_what_has_none_is_cut():
    name = resolve(functools.partial(batchenv.make, "CartPole-v1", seed=10**70), 2, None).name
    assert len(name) == 60 and name.endswith("...")


def test_shape_and_dtype_are_each_looked_at():
    space = spaces.Box(0, 1, (2,), np.float32)
    assert misfit(space, np.zeros(2, np.float32)) == misfit(space, np.zeros(2, np.float16)) == ""
    for wrong in (np.zeros(3, np.float32), np.zeros(2), np.zeros((2, 1), np.float32)):
        assert misfit(space, wrong) == f"{wrong.dtype} of shape {wrong.shape} where the space is float32 of shape (2,)"


def test_the_message_shows_the_part_that_differs():
    def told(one, two):
        assert not same(one, two)
        return difference(one, two, "{} became {}")

    long = {f"key{k}": np.zeros(5) for k in range(40)}
    players = {"env_id": np.array([0, 1]), "score": np.zeros(2)}
    other = {**players, "env_id": np.array([0, 2])}
    assert told({**long, "players": players}, {**long, "players": other}) == (
        "array([0, 1]) became array([0, 2]), in players/env_id"
    )
    image = np.zeros((9, 9, 3), np.uint8)
    changed = image.copy()
    changed[4, 5, 2] = 7
    assert told((1, image), (1, changed)) == "np.uint8(0) became np.uint8(7), in 1[4, 5, 2]"
    assert told(image, changed) == "np.uint8(0) became np.uint8(7), in [4, 5, 2]"
    assert told(np.zeros(2), np.ones(2)) == "array([0., 0.]) became array([1., 1.])"
    assert told({"a": {"b": 1}}, {"a": {"c": 1}}) == "['b'] became ['c'] (keys), in a"
    final = np.array([None, {"place": np.zeros(1)}, None] * 9, object)
    again = final.copy()
    again[4] = {"place": np.ones(1)}
    assert told(final, again) == "array([0.]) became array([1.]), in [4]/place"
    assert told(np.zeros(100), np.zeros(101)).startswith("array([0., 0., ")
    assert told([1, 2], [1]) == "[1, 2] became [1]"


def test_the_part_that_is_outside_of_its_space_is_named():
    parts = {f"part{k}": spaces.Box(0, 1, (20,), np.float32) for k in range(9)}
    space = spaces.Dict({**parts, "arm": spaces.Tuple([spaces.Discrete(3), spaces.Box(0, 9, (2, 9), np.float32)])})
    good = space.sample()
    assert outside(space, good) == ""
    text = outside(space, {**good, "arm": (np.int64(5), good["arm"][1])})
    assert text == "np.int64(5), outside Discrete(3), in arm/0"
    bad = good["arm"][1].copy()
    bad[1, 7] = np.nan
    text = outside(space, {**good, "arm": (good["arm"][0], bad)})
    assert text.endswith("): value 1, 7 is nan, not in 0.0..9.0, in arm/1")


def test_a_dict_is_like_no_array():
    assert not same({"place": 1}, np.array(1)) and not same(np.array(1), {"place": 1})
    assert not same(None, 1.0) and same(None, None)
    assert not same({"place": 1}, {"where": 1}) and same({"place": 1}, {"place": np.array(1)})


def test_the_envs_of_a_factory_are_closed():
    made = []

    def make(num_envs):
        made.append(walk_envs.Walk(num_envs))
        return made[-1]

    assert check_vector_env(make).passed
    assert len(made) > 20 and all(env.closed for env in made)


def test_an_instance_is_left_open():
    env = batchenv.make("CartPole-v1", 4, autoreset_mode="SameStep")
    report = check_vector_env(env)
    assert report.passed and report.modes == ["SameStep"] and report.num_envs == 4
    assert not env.closed
    skipped = {result.name for result in report.skipped}
    assert {"close_sets_closed", "two_envs_agree"} <= skipped
    env.reset(seed=0)
    broken = walk_envs.OneObsBuffer()
    assert {result.name for result in check_vector_env(broken).failures} == {"observations_do_not_change_later"}


def test_what_may_be_asked_for():
    one = check_vector_env(lambda: walk_envs.Walk(2))
    assert one.passed and one.modes == ["NextStep"]
    partial = check_vector_env(functools.partial(walk_envs.Walk, autoreset_mode="Disabled"))
    assert partial.modes == MODES
    sync = check_vector_env("gymnasium:CartPole-v1", vectorization_mode="sync", skip=["reset_leaves_options_alone"])
    assert sync.modes == MODES
    # What Gymnasium's own SyncVectorEnv is known to do otherwise; docs/reference/other-vector-envs.md shows each.
    assert {result.name for result in sync.failures} <= {
        "refused_actions_change_nothing",
        "step_after_close_raises",
        "reset_after_close_raises",
    }

    wrapped = check_vector_env(lambda num_envs: ClipReward(batchenv.make("CartPole-v1", num_envs), -1.0, 1.0))
    assert wrapped.passed, str(wrapped)

    def required(num_envs, autoreset_mode):
        return walk_envs.Walk(num_envs, autoreset_mode)

    assert check_vector_env(required).modes == MODES


@pytest.mark.parametrize(
    ("target", "options", "error", "text"),
    [
        (3, {}, TypeError, "3 must be a vector env"),
        ("CartPol-v1", {}, ValueError, "neither an id of batchenv or Gymnasium"),
        ("walk_envs:nothing", {}, ValueError, "has no attribute 'nothing'"),
        ("walk_envs:BROKEN", {}, ValueError, "must be a function"),
        ("CartPole-v1", {"num_envs": 0}, ValueError, "num_envs=0"),
        ("CartPole-v1", {"timeout": 0}, ValueError, "timeout=0"),
        ("CartPole-v1", {"skip": ["x"]}, ValueError, "no check 'x'; the checks are: makes_resets_and_steps"),
        (lambda: None, {"isolate": True}, ValueError, "another process can import"),
        ("walk_envs:nothing", {"isolate": True}, ValueError, "has no attribute 'nothing'"),
    ],
)
def test_bad_arguments(target, options, error, text):
    with pytest.raises(error, match=text):
        check_vector_env(target, **options)


def test_hangs_and_deaths_are_failed_checks():
    report = check_vector_env("walk_envs:fatal", isolate=True, timeout=4)
    assert {result.name: result.detail for result in report.failures} == {
        "too_few_actions_raise": "hung: there was no answer within 4 s, so the process was killed",
        "too_many_actions_raise": "the process died of SIGABRT; it said: Check failed: too many",
        "actions_out_of_range_raise": "the process ended with exit code 3",
    }
    names = [check.name for check in CHECKS if "NextStep" in check.modes]
    assert [result.name for result in report.results] == names  # the rest went on


def test_a_process_that_ends_before_it_was_asked_to_has_failed():
    report = check_vector_env("walk_envs:leaves", isolate=True)
    (failure,) = report.failures
    assert (failure.name, failure.detail) == ("too_few_actions_raise", "the process ended with exit code 0")
    assert [result.name for result in report.results] == [check.name for check in CHECKS if "NextStep" in check.modes]


def test_what_is_the_same_has_one_essence():
    nan, other_nan = np.float32(np.nan), np.array(0x7FC00001, np.uint32).view(np.float32)
    alike = [
        [[np.array([0.0, 1.0], np.float32)], [2.0]],
        [(np.array([-0.0, 1.0]),), [np.float32(2)]],
        [[np.array([0, 1], np.uint8)], [np.int64(2)]],
    ]
    alike_too = [{"a": nan, "b": "x"}, {"b": "x", "a": other_nan}]
    for group in (alike, alike_too):
        assert all(same(group[0], other) for other in group) and len({essence(one) for one in group}) == 1
    assert len({*map(essence, (alike[0], [[np.array([0.0, 2.0])], [2.0]], [[np.array([[0.0, 1.0]])], [2.0]]))}) == 3


def test_a_factory_that_hangs_or_raises(monkeypatch):
    monkeypatch.setattr("batchenv.check.isolated._IMPORT_SECONDS", 3.0)
    report = check_vector_env(walk_envs.hangs, isolate=True, timeout=1)
    assert [(result.name, result.detail[:4]) for result in report.failures] == [(FIRST, "hung")]
    for isolate in (False, True):
        report = check_vector_env(walk_envs.raises, isolate=isolate)
        assert [result.detail for result in report.failures] == ["raised RuntimeError: no such game"]
        assert {result.detail for result in report.skipped} == {f"{FIRST} failed"}


def run(*arguments):
    return command_line("check", *arguments, PYTHONPATH=first_on_path(TESTS))


def test_command_line():
    good = run("Pendulum-v1", "--num-envs", "2", "--skip", "nan_actions_raise")
    assert good.returncode == 0, good.stdout + good.stderr
    assert "Pendulum-v1: 2 lanes, autoreset NextStep, SameStep, Disabled" in good.stdout
    assert "nan_actions_raise" not in good.stdout and "too_few_actions_raise" in good.stdout
    assert " hold, 0 fail, " in good.stdout.splitlines()[-1]
    bad = run("walk_envs:no_masks")
    assert bad.returncode == 1
    assert "FAIL  infos_have_masks (practice)" in bad.stdout
    unknown = run("walk_envs:missing")
    assert unknown.returncode == 2 and "has no attribute 'missing'" in unknown.stderr and unknown.stdout == ""


def test_importing_batchenv_does_not_import_the_checks():
    code = "import sys, batchenv; assert 'batchenv.check' not in sys.modules; batchenv.check_vector_env"
    run_python(code)


ENDLESS = """
import os, pathlib

def endless(num_envs=3):
    pathlib.Path({told!r}).write_text(str(os.getpid()))
    while True:
        pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a process that its parent has ended")
def test_a_hanging_env_does_not_outlive_the_process_that_checks_it(tmp_path):
    told = tmp_path / "told"
    (tmp_path / "endless_env.py").write_text(ENDLESS.format(told=str(told)))
    code = "from batchenv.check import check_vector_env; check_vector_env('endless_env:endless', isolate=True)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, cwd=tmp_path) as checking:
        while not told.exists() or not told.read_text():
            assert checking.poll() is None
            time.sleep(0.02)
        worker = int(told.read_text())
        assert worker != checking.pid
        checking.kill()
    end = time.monotonic() + 60
    while is_running(worker):
        assert time.monotonic() < end, "the worker goes on"
        time.sleep(0.02)


def is_running(process):
    """Whether there is such a process that is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
