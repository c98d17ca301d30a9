"""Environments with PettingZoo's parallel API in workers: every agent in every lane sees, bit for bit, what a loop over
the plain env shows; and what happens when they fail."""

import os

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

import batchenv
from helpers.begun import begun
from helpers.parallel_envs import Meadow
from helpers.parity import MODES, assert_same

KINDS = ["serial", "threads", "processes"]
LANES = 3


class Plain:
    """One lane: a loop over a plain env, with autoreset."""

    def __init__(self, parallel, mode):
        self.parallel, self.mode, self.done = parallel, mode, False

    def reset(self, seed=None):
        """The outcome: (observations, rewards, terminations, truncations, infos, who plays, what ended)."""
        observations, infos = self.parallel.reset() if seed is None else self.parallel.reset(seed=seed)
        self.done, self.gone = False, {}
        return observations, {}, {}, {}, infos, list(self.parallel.agents), None

    def step(self, actions):
        if self.done:
            assert self.mode is AutoresetMode.NEXT_STEP
            return self.reset()
        returned = self.parallel.step({agent: actions[agent] for agent in self.parallel.agents})
        observations, rewards, terminations, truncations, infos = returned
        for agent in observations:
            self.gone[agent] = terminations.get(agent, False), truncations.get(agent, False)
        terminations, truncations = ({a: ends[k] for a, ends in self.gone.items()} for k in range(2))
        playing = list(self.parallel.agents)
        self.done = not playing
        final = None
        if self.done and self.mode is AutoresetMode.SAME_STEP:
            final = observations, infos
            observations, _, _, _, infos, playing, _ = self.reset()
        return observations, rewards, terminations, truncations, infos, playing, final


def assert_lanes(env, given, outcomes, where):
    """What a ParallelBatchEnv has given is what each lane's plain env has."""
    observations, rewards, terminations, truncations, infos = given
    for agent in env.possible_agents:
        at = f"{where}, {agent}"
        space = env.observation_space(agent)
        rows = list(iterate(batch_space(space, LANES), observations[agent]))
        nobody = _nothing(space)
        for lane, (seen, won, over, cut, told, playing, final) in enumerate(outcomes):
            mine = seen.get(agent, nobody)
            if isinstance(space, gymnasium.spaces.Discrete):
                mine = np.int64(mine)  # some envs give an int, or an array of no dimensions
            assert_same(rows[lane], mine, f"{at}: observation of lane {lane}")
            assert rewards[agent][lane] == won.get(agent, 0), at
            assert terminations[agent][lane] == over.get(agent, False), at
            assert truncations[agent][lane] == cut.get(agent, False), at
            assert infos[agent]["playing"][lane] == (agent in playing), at
            assert infos[agent]["active"][lane] == (agent in (seen if final is None else final[0])), at
            assert_info(infos[agent], lane, told.get(agent, {}), at)
            assert bool(final) == ("final_obs" in infos[agent] and infos[agent]["final_obs"][lane] is not None)
            if final:
                mine = final[0].get(agent, nobody)
                if isinstance(space, gymnasium.spaces.Discrete):
                    mine = np.int64(mine)
                assert_same(infos[agent]["final_obs"][lane], mine, f"{at}: final observation")
                assert_info(infos[agent]["final_info"], lane, final[1].get(agent, {}), at)


def _nothing(space):
    """What stands for the observation of an agent that has none."""
    if isinstance(space, gymnasium.spaces.Tuple):
        return tuple(_nothing(part) for part in space.spaces)
    if isinstance(space, gymnasium.spaces.Dict):
        return {name: _nothing(part) for name, part in space.spaces.items()}
    if isinstance(space, gymnasium.spaces.Text):
        return ""
    return np.zeros(space.shape, space.dtype)[()]


def assert_info(infos, lane, expected, where):
    own = ("playing", "active", "final_obs", "final_info", "env_id")
    for name in [name for name in infos if not name.startswith("_") and name not in own]:
        assert infos[f"_{name}"][lane] == (name in expected), f"{where}: {name}"
    for name, value in expected.items():
        assert_same(np.asarray(infos[name][lane]), np.asarray(value), f"{where}: {name}")


def follow(make_parallel, steps, kind, mode, **keywords):
    """Both go through the same episodes. Returns how many ended, and all that was given in a last step."""
    options = {"workers": kind, "num_workers": 2, "autoreset_mode": mode, "env_kwargs": keywords}
    ours = batchenv.make_parallel(make_parallel, LANES, **options)
    if isinstance(make_parallel, str):
        make_parallel = __import__(make_parallel, fromlist=["parallel_env"]).parallel_env
    theirs = [Plain(make_parallel(**keywords), mode) for _ in range(LANES)]
    observations, infos = ours.reset(seed=7)
    none = {agent: np.zeros(LANES) for agent in ours.agents}
    outcomes = [lane.reset(seed=7 + k) for k, lane in enumerate(theirs)]
    assert_lanes(ours, (observations, none, none, none, infos), outcomes, "reset")
    for agent in ours.agents:
        ours.action_space(agent).seed(len(agent))
    ends = 0
    for step in range(steps):
        done = np.array([lane.done for lane in theirs])
        ends += int(done.sum())
        if mode is AutoresetMode.DISABLED and done.any():
            observations, infos = ours.reset(options={"reset_mask": done})
            for lane in np.flatnonzero(done):
                outcomes[lane] = theirs[lane].reset()
                for agent in ours.agents:
                    seen = list(iterate(batch_space(ours.observation_space(agent), LANES), observations[agent]))[lane]
                    nobody = _nothing(ours.observation_space(agent))
                    assert_same(seen, outcomes[lane][0].get(agent, nobody), f"reset of lane {lane}")
        drawn = [{agent: ours.action_space(agent).sample() for agent in ours.agents} for _ in range(LANES)]
        together = {agent: _together(ours.action_space(agent), [one[agent] for one in drawn]) for agent in ours.agents}
        given = ours.step(together)
        outcomes = [lane.step(actions) for lane, actions in zip(theirs, drawn, strict=True)]
        assert_lanes(ours, given, outcomes, f"step {step}")
    ours.close()
    return ends


def _together(space, actions):
    return gymnasium.vector.utils.concatenate(space, actions, create_empty_array(space, len(actions)))


@pytest.mark.cases(1, per="kind")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_agents_that_leave_and_come(kind, mode):
    assert follow(Meadow, 200, kind, mode) > 10 or mode is AutoresetMode.SAME_STEP


@pytest.mark.cases(3)
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("kind", [*KINDS, "asyncio"])
def test_lanes_in_flight(kind, mode):
    """Each lane goes through what it goes through when all lanes are stepped together."""
    together = batchenv.make_parallel(Meadow, LANES, workers="serial", autoreset_mode=mode)
    spaces = {agent: together.action_space(agent) for agent in together.agents}

    def actions_of(lanes, counts):
        chosen = {}
        for k, (agent, space) in enumerate(spaces.items()):
            values = []
            for lane, count in zip(lanes, counts, strict=True):
                space.seed(int(1000 * count + 10 * lane + k))
                values.append(space.sample())
            chosen[agent] = concatenate(space, values, create_empty_array(space, len(values)))
        return chosen

    def rows(given):
        *parts, infos = given
        count = len(parts[1][together.agents[0]])
        told = [[] for _ in range(count)]
        for agent in together.agents:
            seen = list(iterate(batch_space(together.observation_space(agent), count), parts[0][agent]))
            for k in range(count):
                numbers = [part[agent][k] for part in parts[1:]]
                told[k].append((seen[k], *numbers, infos[agent]["active"][k], infos[agent]["playing"][k]))
        return told

    together.reset(seed=5)
    expected = [rows(together.step(actions_of(range(LANES), [step] * LANES))) for step in range(60)]
    options = {} if kind == "asyncio" else {"num_workers": 2}
    env = batchenv.make_parallel(Meadow, LANES, workers=kind, batch_size=2, autoreset_mode=mode, **options)
    env.async_reset(seed=5)
    counts = np.full(LANES, -1)
    while counts.max() < 59:
        given = env.recv()
        lanes = given[4][env.agents[0]]["env_id"]
        for lane, row in zip(lanes, rows(given), strict=True):
            if counts[lane] >= 0:
                for mine, theirs in zip(row, expected[counts[lane]][lane], strict=True):
                    assert_same(mine, theirs, f"lane {lane}, step {counts[lane]}")
        counts[lanes] += 1
        env.send(actions_of(lanes, counts[lanes]), lanes if counts.sum() % 2 else None)


def test_what_cannot_be_sent():
    env = batchenv.make_parallel(Meadow, LANES, workers="serial", batch_size=2)
    env.async_reset(seed=1)
    env.recv()
    chosen = {agent: batch_space(env.action_space(agent), LANES).sample() for agent in env.agents}
    with pytest.raises(ValueError, match=r"actions\['wolf'\] have shape \(3,\), but 2 lanes need \(2,\)"):
        env.send(chosen)
    with pytest.raises(ValueError, match="actions lack"):
        env.send({})
    with pytest.raises(RuntimeError, match="in flight"):
        env.send(chosen, range(LANES))


@pytest.mark.parametrize(
    ("module", "steps", "keywords"),
    [
        ("mpe2.simple_spread_v3", 1000, {}),
        ("mpe2.simple_world_comm_v3", 200, {"continuous_actions": True}),
        ("mpe2.simple_tag_v3", 200, {"max_cycles": 12}),
        ("pettingzoo.butterfly.knights_archers_zombies_v11", 400, {"line_death": True, "spawn_delay": 5}),
        ("pettingzoo.butterfly.pistonball_v6", 24, {"max_cycles": 10, "n_pistons": 5}),
        ("pettingzoo.butterfly.cooperative_pong_v6", 40, {"max_cycles": 15}),
        ("pettingzoo.sisl.pursuit_v5", 60, {"max_cycles": 15}),
        ("pettingzoo.classic.rps_v2", 200, {"max_cycles": 10}),
    ],
    ids=str,
)
def test_pettingzoos_own(module, steps, keywords):
    try:
        __import__(module)
    except (ImportError, gymnasium.error.DependencyNotInstalled) as problem:
        pytest.skip(str(problem))
    follow(module, steps, "processes", AutoresetMode.SAME_STEP, **keywords)
    follow(module, steps // 3, "serial", AutoresetMode.NEXT_STEP, **keywords)


def test_turn_based_games():
    tictactoe = pytest.importorskip("pettingzoo.classic.tictactoe_v3")
    from pettingzoo.utils.conversions import turn_based_aec_to_parallel

    class Legal:
        """Plays moves that are allowed: the env ends a game at any other."""

        def __init__(self):
            self.inner = turn_based_aec_to_parallel(tictactoe.raw_env())

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def step(self, actions):
            board = self.inner.aec_env.observe(self.inner.aec_env.agent_selection)["action_mask"]
            allowed = {
                agent: None if action is None else int(np.flatnonzero(board)[action % board.sum()])
                for agent, action in actions.items()
            }
            return self.inner.step(allowed)

    assert follow(Legal, 200, "serial", AutoresetMode.NEXT_STEP) > 20


# ---- what a ParallelBatchEnv has ---------------------------------------------------------------------------------


def meadow(lanes=LANES, kind="serial", **options):
    return batchenv.make_parallel(Meadow, lanes, workers=kind, **options)


def drawn(env, lanes=LANES):
    """Actions of all agents in all lanes."""
    spaces = {agent: env.action_space(agent) for agent in env.agents}
    return {agent: _together(space, [space.sample() for _ in range(lanes)]) for agent, space in spaces.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_methods_and_pictures(kind):
    env = begun(meadow(kind=kind, render_mode="rgb_array", env_kwargs={"herd": 5}), seed=1)
    for _ in range(3):
        env.step(drawn(env))
    assert env.possible_agents == env.agents == Meadow.possible_agents
    assert env.metadata["name"] == "meadow_v0" and env.metadata["render_fps"] == 5 and env.env.id == "Meadow"
    assert env.render_mode == "rgb_array" and [int(picture.max()) for picture in env.render()] == [3, 3, 3]
    assert env.state().shape == (LANES, 2) and (env.state()[:, 0] == 3).all()
    assert env.env.get_attr("herd") == (5,) * LANES and env.env.call("double", 4) == (8,) * LANES
    env.env.set_attr("weight", [0.0, 1.0, 2.0])
    assert env.env.get_attr("weight") == (0.0, 1.0, 2.0)
    assert env.observation_space("wolf") == Meadow().observation_space("wolf")
    with pytest.raises(AttributeError, match="nonsense"):
        env.env.get_attr("nonsense")
    env.close()
    assert env.agents == []


def test_a_time_limit_truncates_who_plays():
    for mode in MODES:
        env = meadow(max_episode_steps=2, autoreset_mode=mode)
        _, infos = env.reset(seed=3)
        cut = False
        for _ in range(2):
            playing = {agent: infos[agent]["playing"] for agent in env.agents}
            _, _, terminations, truncations, infos = env.step(drawn(env))
        for agent in env.agents:
            own = terminations[agent] | truncations[agent]
            assert (own | ~playing[agent] | (infos[agent]["active"] & own)).all(), agent
            cut |= bool(truncations[agent].any())
            if mode is not AutoresetMode.SAME_STEP:
                assert not infos[agent]["playing"].any()
        assert cut
        if mode is AutoresetMode.SAME_STEP:
            assert infos["wolf"]["playing"].all() and not infos["dog"]["playing"].any()


def test_statistics_are_of_all_agents():
    env = begun(meadow(record_episode_statistics=True), seed=1)
    totals, ended = np.zeros(LANES), 0
    for _ in range(60):
        _, rewards, _, _, infos = env.step(drawn(env))
        totals += np.sum([rewards[agent] for agent in env.agents], axis=0)
        if "episode" in infos["wolf"]:
            done = infos["wolf"]["_episode"]
            np.testing.assert_allclose(infos["dog"]["episode"]["r"][done], totals[done])
            ended += done.sum()
            totals[done] = 0
    assert ended > 2


def test_a_lane_of_its_own_kind():
    env = batchenv.make_parallel([lambda herd=herd: Meadow(herd=herd) for herd in (2, 7)], workers="processes")
    assert env.num_envs == 2 and env.env.get_attr("herd") == (2, 7)
    env.close()

    class Other(Meadow):
        possible_agents = Meadow.possible_agents[:-1]

    with pytest.raises(ValueError, match="observation_space of lane 1 is"):
        batchenv.make_parallel([Meadow, Other], workers="serial")


def test_names_of_callables():
    env = begun(batchenv.make_parallel("helpers.parallel_envs:Meadow", 2, workers="serial"), seed=1)
    assert env.num_envs == 2
    with pytest.raises(ValueError, match=r"'helpers.parallel_envs': .* has no parallel_env: .* 'module:make'"):
        batchenv.make_parallel("helpers.parallel_envs", 2, workers="serial")
    with pytest.raises(ModuleNotFoundError, match="no_such"):
        batchenv.make_parallel("no_such.module", 2)


# ---- when something goes wrong -----------------------------------------------------------------------------------


class Troubled(Meadow):
    """Does what wolf says: 1 to 3 is trouble."""

    def step(self, actions):
        self.random = np.random.default_rng(9)
        observations, rewards, _, _, infos = super().step(actions)
        self.agents = list(actions)
        alive = dict.fromkeys(observations, False)
        act = actions["wolf"]
        if act == 1:
            raise ZeroDivisionError("a bug in the env")
        if act == 2:
            observations["sheep/1"] = np.zeros(4)
        if act == 3:
            os._exit(3)
        return observations, rewards, alive, dict(alive), infos


def quiet(env, wolf):
    """Actions that are 0, but for the wolf's."""
    actions = {agent: create_empty_array(env.action_space(agent), env.num_envs) for agent in env.agents}
    return {**actions, "wolf": np.array(wolf)}


@pytest.mark.cases(6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("act", "words"),
    [
        (1, "lane 1: ZeroDivisionError: a bug in the env"),
        (2, r"lane 1: ValueError: step\(\)'s observation of agent 'sheep/1' is of shape \(4,\) and dtype float64, but"),
    ],
)
def test_a_lane_that_fails(kind, mode, act, words):
    env = begun(batchenv.make_parallel(Troubled, LANES, workers=kind, autoreset_mode=mode), seed=1)
    env.step(quiet(env, [0, 0, 0]))
    with pytest.raises(batchenv.LaneError, match=words) as raised:
        env.step(quiet(env, [0, act, 0]))
    _, rewards, terminations, truncations, infos = raised.value.result
    for agent in ("wolf", "sheep/0", "shepherd"):
        np.testing.assert_array_equal(truncations[agent], [False, True, False])
        np.testing.assert_array_equal(infos[agent]["active"], [True, False, True])
        assert not terminations[agent].any() and rewards[agent][1] == 0 != rewards[agent][0]
    if mode is AutoresetMode.DISABLED:
        env.reset(options={"reset_mask": np.array([False, True, False])})
    _, _, _, truncations, infos = env.step(quiet(env, [0, 0, 0]))
    assert infos["wolf"]["active"].all() and not truncations["wolf"].any()


def test_a_process_that_dies():
    env = begun(batchenv.make_parallel(Troubled, LANES, num_workers=3), seed=1)
    with pytest.raises(batchenv.LaneError, match=r"lane 2: WorkerDied: .* status 3") as raised:
        env.step(quiet(env, [0, 0, 3]))
    np.testing.assert_array_equal(raised.value.result[3]["wolf"], [False, False, True])
    *_, infos = env.step(quiet(env, [0, 0, 0]))
    assert infos["wolf"]["active"].all()


class Wrong(Meadow):
    """Gives what `how` says."""

    how = None

    def reset(self, seed=None, options=None):
        observations, infos = super().reset(seed, options)
        if self.how == "nobody":
            self.agents = []
        if self.how == "stranger":
            observations["cat"] = 3
        if self.how == "no part":
            del observations["wolf"]["action_mask"]
        if self.how == "no infos":
            return observations
        if self.how == "info":
            infos["wolf"] = "hungry"
        if self.how == "none":
            observations["sheep/0"] = None
        return observations, infos

    def step(self, actions):
        given = super().step(actions)
        if self.how == "reward":
            given[1]["wolf"] = "a lot"
        return given[:4] if self.how == "four" else given


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("nobody", r"after reset\(\), `agents` is empty"),
        ("stranger", r"reset\(\) has told of agent 'cat', which is none of possible_agents \['wolf'"),
        ("no part", r"has no part 'action_mask', but its space is Dict"),
        ("none", r"observation of agent 'sheep/0' is of shape \(\) and dtype object"),
        ("no infos", r"reset\(\) returned dict, but must return a tuple of 2 dicts by agent"),
        ("info", r"reset\(\)'s info of agent 'wolf' is of type str"),
        ("reward", r"step\(\)'s reward of agent 'wolf' is 'a lot', but must be a number"),
        ("four", r"step\(\) returned \['dict', 'dict', 'dict', 'dict'\], but must return a tuple of 5 dicts"),
    ],
)
def test_envs_that_are_wrong(how, words):
    class Bad(Wrong):
        pass

    Bad.how = how
    env = batchenv.make_parallel(Bad, 1, workers="serial")
    with pytest.raises(batchenv.LaneError, match=words):
        env.reset(seed=1)
        env.step(drawn(env, 1))


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"wolf": None}, ValueError, "lack .'wolf'."),
        ({"cat": np.zeros(3, int)}, ValueError, "have unknown .'cat'."),
        ({"wolf": np.array([0, 4, 0])}, ValueError, r"\['wolf'\]\[1\]=4 is not in 0..3; no lane has been stepped"),
        ({"wolf": np.zeros(3)}, TypeError, "have dtype float64, but Discrete"),
        ({"wolf": np.zeros(2, int)}, ValueError, r"have shape \(2,\), but 3 lanes need \(3,\)"),
        ({"dog": np.full((3, 2), 2)}, ValueError, r"actions\['dog'\]\[0, 1\]=2 is not in 0..1"),
        ({"sheep/1": np.full((3, 2), 1.5)}, ValueError, r"actions\['sheep/1'\]\[0, 0\]=1.5 is not in -1.0..1.0"),
        ({"sheep/1": np.full((3, 2), np.nan)}, ValueError, "=nan is not in"),
        ({"shepherd": np.zeros(3, int)}, TypeError, "must be a dict with the keys"),
        ({"shepherd": {"way": np.zeros(3), "on": np.zeros((3, 2))}}, TypeError, r"\['shepherd'\]\['way'\] have dtype"),
    ],
    ids=str,
)
def test_wrong_actions(change, kind, words):
    env = begun(meadow(), seed=1)
    actions = {agent: action for agent, action in {**drawn(env), **change}.items() if action is not None}
    with pytest.raises(kind, match=words):
        env.step(actions)
    assert (env.state()[:, 0] == 0).all()
    with pytest.raises(TypeError, match="must be a dict"):
        env.step(np.zeros(3))


def test_wrong_arguments():
    with pytest.raises(TypeError, match="env_id=7 must be an Atari id, a callable"):
        batchenv.make_parallel(7)
    with pytest.raises(TypeError, match="frame_stack=4 cannot be used with several players"):
        meadow(frame_stack=4)
    with pytest.raises(TypeError, match="players=2 is for Atari games"):
        meadow(players=2)
    with pytest.raises(TypeError, match="CartPoleEnv must be an env with PettingZoo's parallel API"):
        batchenv.make_parallel(CartPoleEnv, 2, workers="serial")
    with pytest.raises(NotImplementedError, match="has no state"):
        batchenv.make_parallel("Pong-v5").state()


def test_clipped_actions_come_as_they_are():
    class Telling(Meadow):
        def step(self, actions):
            self.told = actions["sheep/0"]
            return super().step({**actions, "sheep/0": np.clip(actions["sheep/0"], -1, 1)})

    env = begun(batchenv.make_parallel(Telling, LANES, workers="serial", clip_actions=True), seed=1)
    env.step({**drawn(env), "sheep/0": np.full((LANES, 2), 3.0)})
    np.testing.assert_array_equal(env.env.get_attr("told"), np.full((LANES, 2), 3.0))


@pytest.mark.parametrize("names", [["wolf", "wolf"], [1, "1"]])
def test_agents_of_one_name(names):
    class Namesakes:
        possible_agents = names

    with pytest.raises(ValueError, match=r"two of which are called '(wolf|1)': give each a name of its own"):
        batchenv.make_parallel(Namesakes)
