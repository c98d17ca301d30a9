"""Any sequence of calls: what an env with lanes in flight returns and refuses is what a simple model of it says.

The model has an env of one lane for every lane, stepped at once when the lane is sent. Which lanes a batch holds is
left to the workers; that each of its rows is the model's is not. BATCHENV_MODEL_EXAMPLES=200 searches longer, from a
new starting point every time.
"""

import copy
import os
import pickle
import select

import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError, ResetNeeded

import batchenv

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import Phase  # noqa: E402

st = hypothesis.strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test  # noqa: E402

EXAMPLES = int(os.environ.get("BATCHENV_MODEL_EXAMPLES", "0"))
TRANSFORMS = {"record_episode_statistics": True, "time_aware": True}
TRANSFORMS |= {"frame_stack": 2, "reward_scale": 0.5, "action_repeat": 2}
UNEVEN = {"cost_us": 3.0, "tail_probability": 0.1, "tail_factor": 20.0, "end_probability": 0.1}
KINDS = {
    "cartpole": ("CartPole-v1", {}),
    "taxi": ("Taxi-v4", {}),
    "uneven": ("Synthetic-v0", UNEVEN),
    "failing": ("Synthetic-v0", {**UNEVEN, "fail_step": 4}),
}
SEED = 11
WAIT = 60  # seconds after which a test fails instead of hanging
SPECIAL = {"env_id", "episode", "_episode", "final_obs", "_final_obs", "final_info", "_final_info"}


def row_of(result, k):
    """Everything that a step's result says of row k."""
    observations, rewards, terminations, truncations, infos = result
    row = {
        "observation": np.array(observations[k]),
        "reward": rewards[k],
        "terminated": terminations[k],
        "truncated": truncations[k],
    }
    row |= info_of(infos, k)
    if "_episode" in infos and infos["_episode"][k]:
        row["episode"] = (infos["episode"]["r"][k], infos["episode"]["l"][k])
    if "_final_obs" in infos and infos["_final_obs"][k]:
        row["final"] = np.array(infos["final_obs"][k])
        row |= {f"final {key}": value for key, value in info_of(infos["final_info"], k).items()}
    return row


def info_of(infos, k):
    keys = [key for key in infos if key not in SPECIAL and not key.startswith("_")]
    return {f"info {key}": np.array(infos[key][k]) for key in keys if infos[f"_{key}"][k]}


def assert_same(ours, models, lane):
    assert ours.keys() == models.keys(), (lane, ours, models)
    for key, value in ours.items():
        np.testing.assert_array_equal(value, models[key], err_msg=f"{key} of lane {lane}", strict=key != "episode")


class Lane:
    """The model of a lane."""

    def __init__(self, env):
        self.env = env
        self.finished = False  # with autoreset disabled: to be reset first

    def reset(self, seed, options):
        observations, infos = self.env.reset(seed=seed, options=options)
        self.finished = False
        no = np.zeros(1, bool)
        return row_of((observations, np.zeros(1), no, no, infos), 0) | {"failed": False}

    def step(self, action):
        failed = False
        try:
            result = self.env.step(np.array([action]))
        except batchenv.LaneError as error:
            result, failed = error.result, True
        row = row_of(result, 0)
        self.finished = row["terminated"] or row["truncated"]
        return row | {"failed": failed}

    def observation(self):
        return self.env._backend.core.observe()[0]


class Machine(RuleBasedStateMachine):
    kind: str
    mode: str

    @initialize(
        lanes=st.sampled_from([1, 2, 3, 4, 5, 8, 20, 130]),
        part=st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0, 1.0]),
        threads=st.integers(1, 3),
        limit=st.sampled_from([3, 7, 40]),
        transforms=st.booleans(),
        started=st.sampled_from([True, True, True, False]),
    )
    def start(self, lanes, part, threads, limit, transforms, started):
        self.lanes = lanes
        self.options = {"autoreset_mode": self.mode, "max_episode_steps": limit, **(TRANSFORMS if transforms else {})}
        self.disabled = self.mode == "Disabled"
        self.batch_size = max(1, round(lanes * part))
        self.env_id, self.params = KINDS[self.kind]
        self.threads = threads
        self.snapshots = []
        self.held = []
        self.make()
        if started:
            self.reset(None, None, 0)

    def make(self):
        common = {**self.options, **self.params}
        shared = {"batch_size": self.batch_size, "num_threads": self.threads, "seed": SEED}
        self.env = batchenv.make(self.env_id, self.lanes, **shared, **common)
        alone = [batchenv.make(self.env_id, 1, num_threads=1, seed=SEED + i, **common) for i in range(self.lanes)]
        self.model = list(map(Lane, alone))
        self.num_actions = self.env.single_action_space.n
        self.started = False
        self.flying = {}  # lane: the row that is to come
        self.last = None
        self.stepping = False  # between step_async and step_wait

    def teardown(self):
        if hasattr(self, "env"):
            self.env.close()
            for arrays, copies in self.held:
                for a, b in zip(arrays, copies, strict=True):
                    np.testing.assert_array_equal(a, b, err_msg="a result was written again")

    # ---- what is common ----------------------------------------------------------------------------------------

    def is_async(self):
        return self.batch_size < self.lanes

    def idle(self):
        return [i for i in range(self.lanes) if i not in self.flying and not self.model[i].finished]

    def finished(self):
        return [i for i in range(self.lanes) if self.disabled and i not in self.flying and self.model[i].finished]

    def ready(self):
        return len(self.flying) >= self.batch_size

    def sent(self, ids, actions):
        for lane, action in zip(ids, actions, strict=True):
            self.flying[int(lane)] = self.step_lane(int(lane), action)

    def step_lane(self, lane, action):
        row = self.model[lane].step(action)
        self.model[lane].finished &= self.disabled
        return row

    def take(self, receive, stepped=None):
        """Receives a batch, which must be there to come, and compares its rows. stepped: lanes that were not sent, but
        stepped at once; their rows come in this order."""
        failing = None
        try:
            result = receive()
        except batchenv.LaneError as error:
            result, failing = error.result, error.env_id
        ids = result[4]["env_id"].tolist() if "env_id" in result[4] else list(range(self.lanes))
        assert len(set(ids)) == len(ids) == len(result[0])
        self.compare(result, ids, [self.flying.pop(lane) for lane in ids], failing)
        if stepped is None:
            assert len(ids) == self.batch_size
            assert self.is_async() or ids == list(range(self.lanes))
            self.last = ids
            self.stepping = False
        else:
            assert ids == stepped
        arrays = [array for array in (*result[:4], result[4].get("env_id")) if array is not None]
        self.held.append((arrays, [array.copy() for array in arrays]))

    def compare(self, result, ids, rows, failing):
        expected = [lane for lane, row in zip(ids, rows, strict=True) if row["failed"]]
        assert ([] if failing is None else failing.tolist()) == expected
        for k, (lane, row) in enumerate(zip(ids, rows, strict=True)):
            assert_same(row_of(result, k), {key: value for key, value in row.items() if key != "failed"}, lane)

    # ---- resets ------------------------------------------------------------------------------------------------

    def seeds(self, seed, salt):
        """As `reset` takes them, and what each lane gets."""
        if seed == "list":
            values = [int(s) for s in np.random.default_rng(salt).integers(1000, size=self.lanes)]
            if self.started:
                values = [None if s % 3 == 0 else s for s in values]
            return values, values
        if seed is None:
            return None, [None] * self.lanes
        return seed, [seed + i for i in range(self.lanes)]

    def reset_options(self, kind):
        if self.env_id == "CartPole-v1" and kind:
            return {"low": -0.01, "high": 0.02} if kind == "good" else {"low": "x"}
        return {}

    seed_kinds = st.sampled_from([None, 0, 5, "list"])
    option_kinds = st.sampled_from([None, None, "good", "bad"])

    @rule(seed=seed_kinds, options=option_kinds, salt=st.integers(0, 2**20))
    def reset(self, seed, options, salt):
        seed, by_lane = self.seeds(seed, salt)
        options = self.reset_options(options)
        if "low" in options and options["low"] == "x":
            with pytest.raises(ValueError, match="low"):
                self.env.reset(seed=seed, options=options)
            return
        observations, infos = self.env.reset(seed=seed, options=options or None)
        self.flying, self.started, self.stepping = {}, True, False
        no, zero = np.zeros(self.lanes, bool), np.zeros(self.lanes)
        for i, lane in enumerate(self.model):
            expected = lane.reset(by_lane[i], options)
            expected.pop("failed")
            assert_same(row_of((observations, zero, no, no, infos), i), expected, i)

    @rule(seed=seed_kinds, options=option_kinds, chance=st.sampled_from([0.0, 0.2, 0.7]), salt=st.integers(0, 2**20))
    def reset_some(self, seed, options, chance, salt):
        rng = np.random.default_rng(salt)
        mask = rng.random(self.lanes) < chance
        mask[rng.integers(self.lanes)] = True
        if mask.all():
            return
        seed, by_lane = self.seeds(seed, salt)
        options = self.reset_options(options)
        both = {**options, "reset_mask": mask}
        chosen = set(np.flatnonzero(mask).tolist())
        if not self.started:
            refusal = pytest.raises(ResetNeeded)
        elif options.get("low") == "x":
            refusal = pytest.raises(ValueError, match="low")
        elif chosen & self.flying.keys():
            refusal = pytest.raises(RuntimeError, match="in flight")
        else:
            observations, infos = self.env.reset(seed=seed, options=both)
            for i, lane in enumerate(self.model):
                if i in chosen:
                    expected = lane.reset(by_lane[i], options)
                    assert info_of(infos, i).keys() == {key for key in expected if key.startswith("info ")}
                    for key, value in info_of(infos, i).items():
                        np.testing.assert_array_equal(value, expected[key])
                np.testing.assert_array_equal(observations[i], lane.observation(), err_msg=f"lane {i}")
            return
        with refusal:
            self.env.reset(seed=seed, options=both)

    @rule(seed=seed_kinds, options=option_kinds, mask=st.sampled_from([None, "all", "one"]), salt=st.integers(0, 9))
    def async_reset(self, seed, options, mask, salt):
        seed, by_lane = self.seeds(seed, salt)
        options = self.reset_options(options)
        both = dict(options)
        if mask:
            both["reset_mask"] = np.arange(self.lanes) >= (0 if mask == "all" else self.lanes - 1)
        if mask == "one" and self.lanes > 1:
            with pytest.raises(ValueError, match="all lanes"):
                self.env.async_reset(seed=seed, options=both)
            return
        if options.get("low") == "x":
            with pytest.raises(ValueError, match="low"):
                self.env.async_reset(seed=seed, options=both)
            return
        self.env.async_reset(seed=seed, options=both or None)
        self.flying = {i: lane.reset(by_lane[i], options) for i, lane in enumerate(self.model)}
        self.started, self.stepping = True, False

    # ---- sending and receiving ---------------------------------------------------------------------------------

    def choose(self, lanes, share, salt):
        """Some of the lanes in some order, and an action for each."""
        rng = np.random.default_rng(salt)
        count = max(1, round(len(lanes) * share))
        ids = rng.permutation(lanes)[:count] if salt % 2 else np.array(lanes[:count])  # neighbours go another way
        return ids, rng.integers(self.num_actions, size=count)

    @rule(
        share=st.sampled_from([0.0, 0.4, 1.0, 1.0]),
        salt=st.integers(0, 2**20),
        form=st.sampled_from(["int64", "list", "int32", "strided", "step"]),
    )
    def send(self, share, salt, form):
        idle = self.idle()
        if not idle or not self.started:
            return
        ids, actions = self.choose(idle, share, salt)
        given = ids.tolist() if form == "list" else ids.astype(np.int32) if form == "int32" else ids
        if form == "strided":  # as the columns of a table are
            given, actions = np.stack([ids, ids + 1], 1)[:, 0], np.stack([actions, actions + 1], 1)[:, 0]
        if form != "step":
            self.env.send(actions, given)
            self.sent(ids, actions)
        elif not self.is_async() and self.flying:
            with pytest.raises(RuntimeError, match="in flight"):
                self.env.step(actions, given)
        elif not self.is_async():
            self.sent(ids, actions)
            self.take(lambda: self.env.step(actions, given), ids.tolist())
        elif len(self.flying) + len(ids) < self.batch_size:
            with pytest.raises(RuntimeError, match="would never come"):
                self.env.step(actions, given)  # nothing is sent
        else:
            self.sent(ids, actions)
            self.take(lambda: self.env.step(actions, given))

    @rule(salt=st.integers(0, 2**20))
    def send_back(self, salt):
        """env_id=None: the lanes last received."""
        actions = np.random.default_rng(salt).integers(self.num_actions, size=self.batch_size)
        if not self.started:
            refusal = pytest.raises(ResetNeeded)
        elif self.last is None:
            refusal = pytest.raises(ValueError, match="none have been")
        elif self.flying.keys() & set(self.last):
            refusal = pytest.raises(RuntimeError, match="is in flight")
        elif set(self.finished()) & set(self.last):
            refusal = pytest.raises(ResetNeeded, match="nothing was sent")
        else:
            self.env.send(actions)
            self.sent(self.last, actions)
            return
        with refusal:
            self.env.send(actions)

    @rule(
        wrong=st.sampled_from(
            ["high id", "low id", "twice", "in flight", "finished", "action", "float", "shape", "nothing", "float id"]
        ),
        salt=st.integers(0, 2**20),
    )
    def send_wrong(self, wrong, salt):
        rng = np.random.default_rng(salt)
        idle = self.idle()
        if not idle and wrong not in ("in flight", "finished", "nothing"):
            return
        ids = rng.permutation(idle)[: 1 + salt % 3]
        actions = rng.integers(self.num_actions, size=len(ids))
        error, words = ValueError, None
        if wrong == "high id":
            ids[-1], words = self.lanes, "is not in 0.."
        elif wrong == "low id":
            ids[-1], words = -1, "is not in 0.."
        elif wrong == "twice":
            ids, actions, words = np.append(ids, ids[0]), np.append(actions, 0), "twice"
        elif wrong == "action":
            actions[-1], words = self.num_actions, f"action {self.num_actions} of lane {ids[-1]}"
        elif wrong == "float":
            actions, error = actions + 0.5, TypeError
        elif wrong == "shape":
            actions, words = np.append(actions, 0), "shape"
        elif wrong == "nothing":
            ids, actions, words = [], np.empty(0, int), "empty"
        elif wrong == "float id":
            ids, error, words = ids + 0.0, TypeError, "env_id"
        else:
            ids = sorted(self.flying) if wrong == "in flight" else self.finished()
            if not ids:
                return
            error, words = (RuntimeError, "in flight") if wrong == "in flight" else (ResetNeeded, "nothing was sent")
            actions = np.zeros(len(ids), int)
        if not self.started:
            error, words = ResetNeeded, None
        with pytest.raises(error, match=words):
            self.env.send(actions, ids)

    @rule(timeout=st.sampled_from([None, WAIT, 0, 1e-5]))
    def recv(self, timeout):
        if not self.ready():
            with pytest.raises(RuntimeError, match="in flight"):
                self.env.recv(timeout)
            return
        try:
            self.take(lambda: self.env.recv(timeout))
        except TimeoutError:
            assert timeout in (0, 1e-5)

    @rule()
    def recv_all(self):
        while self.ready():
            self.take(lambda: self.env.recv(WAIT))

    @rule()
    def select(self):
        """The file descriptor is readable when there is something to receive."""
        while self.ready():
            assert select.select([self.env], [], [], WAIT)[0], "not readable, though a batch must have come"
            try:
                self.take(lambda: self.env.recv(0))
                break
            except TimeoutError:  # it may once be readable for a batch that was received before
                pass
        else:
            self.env.fileno()

    # ---- stepping all ------------------------------------------------------------------------------------------

    def refusal_of_all(self, actions):
        """What refuses a step of all lanes."""
        if not self.started:
            return pytest.raises(ResetNeeded)
        if self.flying:
            return pytest.raises(RuntimeError, match="in flight")
        if self.finished():
            return pytest.raises(ResetNeeded)
        return None

    @rule(salt=st.integers(0, 2**20))
    def step(self, salt):
        actions = np.random.default_rng(salt).integers(self.num_actions, size=self.lanes)
        refusal = self.refusal_of_all(actions)
        if refusal:
            with refusal:
                self.env.step(actions)
            return
        failing = None
        try:
            result = self.env.step(actions)
        except batchenv.LaneError as error:
            result, failing = error.result, error.env_id
        rows = [self.step_lane(lane, action) for lane, action in enumerate(actions)]
        self.compare(result, range(self.lanes), rows, failing)

    @rule(salt=st.integers(0, 2**20))
    def step_async(self, salt):
        actions = np.random.default_rng(salt).integers(self.num_actions, size=self.lanes)
        if self.is_async():
            refusal = pytest.raises(RuntimeError, match="batch_size")
        elif self.stepping:
            refusal = pytest.raises(AlreadyPendingCallError)
        else:
            refusal = self.refusal_of_all(actions)
        if refusal:
            with refusal:
                self.env.step_async(actions)
        else:
            self.env.step_async(actions)
            self.sent(range(self.lanes), actions)
            self.stepping = True

    @rule()
    def step_wait(self):
        if not self.stepping:
            with pytest.raises(NoAsyncCallError):
                self.env.step_wait()
        else:
            self.take(lambda: self.env.step_wait(WAIT))

    @rule(salt=st.integers(0, 2**20))
    def rollout(self, salt):
        if self.disabled or self.kind == "failing":
            return
        actions = np.random.default_rng(salt).integers(self.num_actions, size=(2, self.lanes))
        refusal = self.refusal_of_all(actions)
        if refusal:
            with refusal:
                self.env.rollout(actions)
            return
        observations, rewards, terminations, truncations, *_ = self.env.rollout(actions)
        for t in range(2):
            for i in range(self.lanes):
                row = self.step_lane(i, actions[t, i])
                np.testing.assert_array_equal(observations[t, i], row["observation"])
                assert rewards[t, i] == row["reward"]
                assert (terminations[t, i], truncations[t, i]) == (row["terminated"], row["truncated"])

    # ---- reaching into lanes -----------------------------------------------------------------------------------

    @rule(share=st.sampled_from([0.0, 0.5, 1.0]), salt=st.integers(0, 2**20))
    def snapshot(self, share, salt):
        lanes, _ = self.choose(range(self.lanes), share, salt)
        if not self.started:
            with pytest.raises(ResetNeeded):
                self.env.snapshot(lanes)
            return
        rows = [(self.model[i].env.snapshot(), self.model[i].finished) for i in lanes]
        self.snapshots = [*self.snapshots[-3:], (self.env.snapshot(lanes), rows)]

    @rule(which=st.integers(0, 3), share=st.sampled_from([0.0, 0.5, 1.0]), salt=st.integers(0, 2**20))
    def restore(self, which, share, salt):
        if not self.snapshots or not self.started:
            return
        snapshot, rows = self.snapshots[which % len(self.snapshots)]
        rng = np.random.default_rng(salt)
        lanes, _ = self.choose(range(self.lanes), share, salt)
        sources = rng.integers(len(rows), size=len(lanes))
        if self.flying.keys() & set(lanes.tolist()):
            with pytest.raises(RuntimeError, match="in flight"):
                self.env.restore(snapshot, lanes, rows=sources)
            self.look()  # params included, nothing has changed
            return
        observations = self.env.restore(snapshot, lanes, rows=sources)
        for i, k in zip(lanes, sources, strict=True):
            self.model[i].env.restore(rows[k][0])
            self.model[i].finished = rows[k][1]
        for i, lane in enumerate(self.model):
            np.testing.assert_array_equal(observations[i], lane.observation())

    @rule(share=st.sampled_from([0.0, 0.5, 1.0]), salt=st.integers(0, 2**20), wrong=st.booleans())
    def set_params(self, share, salt, wrong):
        rng = np.random.default_rng(salt)
        if self.env_id == "CartPole-v1":
            name, value = "gravity", float(rng.choice([5.0, 9.8, 15.0]))
        elif self.env_id == "Synthetic-v0":
            name, value = "end_probability", float(rng.choice([0.0, 0.1, 0.5]))
        else:
            return
        lanes, _ = self.choose(range(self.lanes), share, salt)
        if wrong and salt % 3 == 0:
            with pytest.raises((TypeError, ValueError), match=name):
                self.env.set_params(lanes=lanes, **{name: np.nan})
            return
        self.env.set_params(lanes=lanes, **{name: value})
        for i in lanes:
            self.model[i].env.set_params(**{name: value})

    @rule()
    def look(self):
        """Params, state, random streams; results in flight are waited for."""
        ours, models = self.env.get_params(), [lane.env.get_params() for lane in self.model]
        for name, values in ours.items():
            expected = [params[name] for params in models]
            if isinstance(values, np.ndarray):
                np.testing.assert_array_equal(values, expected)
            else:
                assert all(value == values for value in expected)
        assert self.env._backend.core.in_flight() == len(self.flying)
        if not self.started:
            return
        state, generators, seeds = self.env.state, self.env.np_random, self.env.np_random_seed
        for i, lane in enumerate(self.model):
            for name, column in lane.env.state.items():
                np.testing.assert_array_equal(state[name][i], column[0], err_msg=f"{name} of lane {i}")
            assert generators[i].bit_generator.state == lane.env.np_random[0].bit_generator.state
            assert seeds[i] == lane.env.np_random_seed[0]

    @rule(how=st.sampled_from([copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]))
    def duplicate(self, how):
        if self.flying:
            with pytest.raises(RuntimeError, match="in flight"):
                how(self.env)
            return
        other = how(self.env)
        self.env.close()
        self.env, self.last, self.stepping = other, None, False

    @rule(salt=st.integers(0, 9))
    def close(self, salt):
        if salt:
            return  # now and then is enough
        self.env.close()
        env = self.env
        actions = np.zeros(self.lanes, int)
        calls = [lambda: env.send([0], [0]), lambda: env.step_async([0]), lambda: env.step(actions)]
        for call in (*calls, env.recv, env.async_reset, env.step_wait, env.snapshot):
            with pytest.raises(ClosedEnvironmentError):
                call()
        env.close()
        self.make()


SETTINGS = hypothesis.settings(
    max_examples=EXAMPLES or 8,
    stateful_step_count=100 if EXAMPLES else 50,
    derandomize=not EXAMPLES,  # the suite does the same every time
    phases=[Phase.generate, Phase.shrink] if EXAMPLES else [Phase.generate],  # shrinking can take minutes
    database=None,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)


@pytest.mark.cases(1, per="kind")
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("kind", KINDS)
def test_any_sequence_of_calls(kind, mode):
    run_state_machine_as_test(type("Machine", (Machine,), {"kind": kind, "mode": mode}), settings=SETTINGS)
