"""Numbers that come out wrong without a word."""

import copy
import ctypes
import functools
import pickle
import platform

import gymnasium
import numpy as np
from harness import attack, note, rounds

import batchenv
from helpers.begun import begun
from helpers.hostile import Complaints, clear, future, inside, make, same, slow, zeros

# ---- transforms ----------------------------------------------------------------------------------------------------


class Given(gymnasium.Env):
    """A single env that shows an observation it is given."""

    def __init__(self, space):
        self.observation_space, self.action_space = space, gymnasium.spaces.Discrete(1)


def rescaled(name, low, high, **options):
    """rescale_observation is Gymnasium's RescaleObservation, in the space and out of reset, step, recv, rollout; or,
    where Gymnasium's integers would all become the same, it is refused."""
    raw = make(name, 3, **options)
    space = raw.single_observation_space
    try:
        env = make(name, 3, rescale_observation=(low, high), **options)
    except ValueError as error:
        assert space.dtype == np.uint8 and "rescale_observation" in str(error) and "integers" in str(error), error
        return
    bounds = [np.broadcast_to(np.asarray(end, space.dtype), space.shape) for end in (low, high)]
    wrapper = gymnasium.wrappers.RescaleObservation(Given(space), *bounds)
    assert env.single_observation_space == wrapper.observation_space, env.single_observation_space

    def check(rows, plain, what):
        shape = (-1, *space.shape)
        for row, given in zip(rows.reshape(shape), plain.reshape(shape), strict=True):
            expected = wrapper.observation(given)
            same(row, np.asarray(expected, row.dtype), what)
            assert np.all(row >= bounds[0] - 1e-5) and np.all(row <= bounds[1] + 1e-5), f"{what}: {row}"

    check(env.reset(seed=0)[0], raw.reset(seed=0)[0], "reset")
    for t in range(4):
        check(env.step(zeros(env))[0], raw.step(zeros(env))[0], f"step {t}")
    for one in (env, raw):
        one.send(zeros(one), np.arange(3))
    check(env.recv()[0], raw.recv()[0], "recv")
    check(env.rollout(zeros(env, steps=5))[0], raw.rollout(zeros(env, steps=5))[0], "rollout")


@attack()
def rescale_catch():
    rescaled("Catch-v0", -1.0, 3.0)
    rescaled("Catch-v0", np.linspace(-4, 0, 50).reshape(10, 5), np.linspace(1, 9, 50).reshape(10, 5))


attack(name="rescale_ram", needs=("ale",))(lambda: rescaled("Pong-v5", 0, 1, obs_type="ram", stack_num=None))


@attack(needs=("ale",))
def rescale_pictures():
    rescaled("Pong-v5", 0, 1)
    rescaled("Pong-v5", 0, 255)


attack(name="rescale_whole_pictures", needs=("ale",))(
    lambda: rescaled("Breakout-v5", 10, 200, obs_type="rgb", img_height=None, img_width=None, stack_num=None)
)


@attack(needs=("ale",))
def rescaled_pictures_as_floats():
    for dtype in ("float32", "float64", "int32"):
        try:
            env = make("Pong-v5", 2, rescale_observation=(0, 1), observation_dtype=dtype)
        except ValueError as error:
            assert "rescale_observation" in str(error), error
            continue
        rows = [env.reset(seed=0)[0], env.step(zeros(env))[0]]
        assert np.isfinite(rows).all() and np.min(rows) >= 0 and np.max(rows) <= 1, (np.min(rows), np.max(rows))


@attack()
def rescale_exactly_at_the_tables_ends():
    for lanes in (1, 3):
        for limit in (1, 10):
            env = make("Catch-v0", lanes, rescale_observation=(-2.0, 2.0), max_episode_steps=limit, frame_stack=3)
            rows = env.reset(seed=0)[0]
            assert set(np.unique(rows)) <= {-2.0, 2.0}, np.unique(rows)


@attack()
def moments_of_any_shape():
    reference = make("normalized CartPole-v1", 5)
    reference.normalizer.update_running_mean = False
    complaints = Complaints()
    for name, whole in (("var", np.full(4, 2.0)), ("mean", np.full(4, 0.5))):
        setattr(reference.normalizer.obs_rms, name, whole)
        expected = [reference.reset(seed=0)[0], *(reference.step(zeros(reference))[0] for _ in range(3))]
        for value in (float(whole[0]), whole[:1], np.float32(whole[0]), [float(whole[0])] * 4, whole.astype(int) * 1.0):
            if name == "mean" and np.asarray(value).min() == 0:
                continue
            with complaints.about(f"{name}={value!r}"):
                env = make("normalized CartPole-v1", 5)
                env.normalizer.update_running_mean = False
                for told in ("var", "mean"):
                    setattr(env.normalizer.obs_rms, told, copy.copy(getattr(reference.normalizer.obs_rms, told)))
                try:
                    setattr(env.normalizer.obs_rms, name, value)
                    found = [env.reset(seed=0)[0], *(env.step(zeros(env))[0] for _ in range(3))]
                except (TypeError, ValueError) as error:
                    assert name in str(error), error
                else:
                    np.testing.assert_allclose(found, expected, rtol=1e-6)
    complaints.tell()


@attack()
def moments_of_a_wrong_shape():
    complaints = Complaints()
    for name in ("var", "mean"):
        for value in (np.ones(3), np.ones(5), np.ones((2, 4)), np.empty(0)):
            env = make("normalized CartPole-v1", 5)
            setattr(env.normalizer.obs_rms, name, value)
            complaints.refused(f"{name}={value!r}", lambda env=env: env.reset(seed=0), (TypeError, ValueError), name)
    complaints.tell()


@attack(needs=("mujoco",))
def scalar_moments_of_hopper():
    env = begun(make("normalized Hopper-v5", 5))
    env.normalizer.obs_rms.var = 1.0
    env.normalizer.obs_rms.mean = 0.0
    rows = env.step(zeros(env))[0]
    assert np.isfinite(rows).all() and np.abs(rows).max() < 100, rows


# ---- out= ----------------------------------------------------------------------------------------------------------


def overlapping(name, **options):
    """Arrays of out= that overlap each other or the actions, or are no good in other ways, are refused, and nothing is
    stepped; good ones are taken."""
    env = begun(make(name, 6, num_threads=1, **options))
    twin = begun(make(name, 6, num_threads=1, **options))
    shape, dtype = env.observation_space.shape, env.observation_space.dtype
    complaints = Complaints()
    for steps in (None, 3):
        lead = () if steps is None else (steps,)
        rows = (*lead, *shape)
        block = np.zeros(int(np.prod(rows)) * 8 + 10_000, np.uint8)

        def array(place, dtype, shape, block=block):
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            return block[place : place + size].view(dtype).reshape(shape)

        good = lambda rows=rows, lead=lead: (  # noqa: E731
            np.zeros(rows, dtype),
            np.zeros((*lead, 6), np.float64),
            np.zeros((*lead, 6), bool),
            np.zeros((*lead, 6), bool),
        )
        actions = zeros(env, steps=steps)
        observation = array(0, dtype, rows)
        size = observation.nbytes
        mine = np.empty(observation.nbytes + 1, np.uint8)[1:].view(dtype).reshape(rows)
        last = good()[3]
        bad = {
            "rewards in observations": (observation, array(size // 8 * 8 - 8, np.float64, (*lead, 6)), *good()[2:]),
            "flags in observations": (observation, good()[1], array(size - 1, bool, (*lead, 6)), last),
            "both flags the same": (*good()[:2], last, last),
            "flags in rewards": (*good()[:1], array(0, np.float64, (*lead, 6)), array(5, bool, (*lead, 6)), last),
            "misaligned": (mine, *good()[1:]),
            "wrong dtype": (np.zeros(rows, np.float16), *good()[1:]),
            "wrong shape": (np.zeros((*rows, 2), dtype), *good()[1:]),
            "not contiguous": (np.zeros((*rows, 2), dtype)[..., 0], *good()[1:]),
            "read-only": (np.frombuffer(bytes(observation.nbytes), dtype).reshape(rows), *good()[1:]),
            "too few": good()[:3],
        }
        if actions.nbytes >= 8:
            inside_actions = np.zeros(max(actions.nbytes, observation.nbytes) + 64, np.uint8)
            taken = inside_actions[: actions.nbytes].view(actions.dtype).reshape(actions.shape)
            over = inside_actions[: observation.nbytes].view(dtype).reshape(rows)
        call = env.step if steps is None else env.rollout
        for what, out in bad.items():
            if what == "misaligned" and np.dtype(dtype).itemsize == 1:
                continue
            with complaints.about(f"{what}, {steps} steps"):
                clear(functools.partial(call, actions, out=out), (ValueError, TypeError))
        if actions.nbytes >= 8:
            with complaints.about(f"actions in observations, {steps} steps"):
                clear(functools.partial(call, taken, out=(over, *good()[1:])), ValueError)
        with complaints.about(f"good ones, {steps} steps"):
            out = good()
            result = call(actions, out=out)
            expected = (twin.step if steps is None else twin.rollout)(actions)
            same(list(result[:4]), list(expected[:4]))
            same(list(out), list(expected[:4]), "out")
    complaints.tell()


attack(name="overlapping_out_of_cartpole")(lambda: overlapping("CartPole-v1"))
attack(name="overlapping_out_of_normalized_cartpole")(lambda: overlapping("normalized CartPole-v1"))
attack(name="overlapping_out_of_normalized_doubles")(
    lambda: overlapping("normalized CartPole-v1", observation_dtype="float64")
)
attack(name="overlapping_out_of_normalized_hopper", needs=("mujoco",))(lambda: overlapping("normalized Hopper-v5"))
attack(name="overlapping_out_of_normalized_pong", needs=("ale",))(lambda: overlapping("normalized Pong-v5"))


# ---- MuJoCo: what is looked at while lanes are stepped -------------------------------------------------------------


@attack(needs=("mujoco",))
def attributes_of_lanes_in_flight():
    complaints = Complaints()
    for name in ("qpos", "qvel", "time", "data", "state"):
        with complaints.about(name):
            env, twin = (begun(make("Hopper-v5", 8, frame_skip=300)) for _ in range(2))
            for _ in range(3):
                env.send(zeros(env) + 0.1, np.arange(8))
                found = env.get_attr(name)
                twin.step(zeros(twin) + 0.1)
                expected = twin.get_attr(name)
                if name == "data":
                    found, expected = ([np.array(data.qpos) for data in datas] for datas in (found, expected))
                same(list(found), list(expected), name)
                env.recv()
    complaints.tell()


@attack(needs=("mujoco",))
def attributes_beside_steps():
    env = begun(make("Hopper-v5", 8, frame_skip=4000))
    for name in ("qpos", "qvel", "time", "data", "state"):
        running = inside(lambda: env.rollout(zeros(env, steps=4)))
        try:
            found = env.get_attr(name)
        except RuntimeError as error:
            assert "one call at a time" in str(error), error
            running.result()
            continue
        running.result()
        now = env.get_attr(name)
        if name == "data":
            found, now = ([np.array(data.qpos) for data in datas] for datas in (found, now))
        same(list(found), list(now), f"{name} beside rollout()")


@attack(needs=("mujoco",))
def models_that_are_written_to():
    env, twin = (begun(make("Hopper-v5", 4)) for _ in range(2))
    for model in env.get_attr("model"):
        model.opt.gravity[:] = 0
        model.opt.timestep = np.nan
        model.body_mass[:] = 1e6
        model.qpos0[:] = 7
    for data in env.get_attr("data"):
        data.qpos[:] = 9
    for name in ("qpos", "qvel", "init_qpos", "init_qvel"):
        for row in env.get_attr(name):
            np.asarray(row)[:] = 5
    same(future(env), future(twin))
    same(env.reset(seed=3)[0], twin.reset(seed=3)[0])
    same(future(pickle.loads(pickle.dumps(env))), future(twin))


@attack(needs=("mujoco",))
def models_of_lanes_own_that_are_written_to():
    env, twin = (make("Hopper-v5", 4) for _ in range(2))
    for one in (env, twin):
        one.set_params(lanes=[1, 2], gravity=[0, 0, -3.0])
        one.reset(seed=0)
    for model in env.get_attr("model"):
        model.opt.gravity[:] = 0
        model.body_mass[:] = 1e6
    same(future(env), future(twin))


SLEEPING = """<mujoco><option><flag sleep="enable"/></option><worldbody><geom type="plane" size="5 5 .1"/>
<body pos="0 0 .1"><freejoint/><geom size=".1"/></body>
<body pos="1 0 .4"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
<body pos="3 0 1"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
<actuator><motor joint="j"/></actuator></mujoco>"""


@attack(needs=("mujoco",), stderr="stepped one by one")
def snapshots_of_models_that_sleep():
    env = begun(batchenv.make_mujoco(SLEEPING, 3, num_threads=1))
    for _ in range(300):
        env.step(zeros(env))
    try:
        snapshot, text, twin = env.snapshot(), pickle.dumps(env), copy.deepcopy(env)
    except (RuntimeError, ValueError, NotImplementedError) as error:
        assert "sleep" in str(error), error
        return
    other = batchenv.make_mujoco(SLEEPING, 3, num_threads=1)
    other.restore(snapshot)
    expected = [env.step(zeros(env) + 0.2) for _ in range(20)]
    for name, one in {"restored": other, "pickled": pickle.loads(text), "copied": twin}.items():
        same([one.step(zeros(one) + 0.2)[0] for _ in range(20)], [result[0] for result in expected], name)


PLACELESS = """<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
<actuator><motor name="motor" joint="j"/></actuator>
<sensor><clock/><actuatorfrc actuator="motor"/><jointpos joint="j"/><jointvel joint="j"/></sensor></mujoco>"""


@attack(needs=("mujoco",))
def sensors_of_what_has_no_place():
    """A model without sites: under AddressSanitizer, none is looked for."""
    env = begun(batchenv.make_mujoco(PLACELESS, 8, num_threads=1, observation=["qpos", "qvel", "sensordata"]))
    time, force, *joint = env.step(zeros(env) + 0.2)[0][:, 2:].T
    assert (time > -1).all() and (abs(force - 0.2) < 1e-6).all() and np.isfinite(joint).all()


# ---- rounding ------------------------------------------------------------------------------------------------------

UPWARD, DOWNWARD, TO_ZERO = 0x800, 0x400, 0xC00  # of x86's fenv.h


def rounding(name, lanes, **options):
    """A rounding mode of the caller's thread changes results for any number of threads alike, or not at all; and it
    is still there afterwards."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return
    library = ctypes.CDLL(None)
    for mode in (UPWARD, DOWNWARD, TO_ZERO):
        results = []
        for threads in (1, 2):
            note(f"mode {mode:#x}, {threads} threads")
            env = begun(make(name, lanes, num_threads=threads, **options))
            if threads > 1:
                env._backend.core.force_parallel(True)
            actions = zeros(env)
            steps = zeros(env, steps=3)
            library.fesetround(mode)
            try:
                found = [env.step(actions)[:3], env.rollout(steps)[:3]]
                env.send(actions, np.arange(lanes))
                found += [env.recv()[:3], env.reset(seed=1)[0]]
                env.async_reset(seed=2)
                found += [env.recv()[0], env.rollout(3, policy="random", seed=3)[:3]]
                assert library.fegetround() == mode, "the rounding mode was changed"
            finally:
                library.fesetround(0)
            results.append(found)
        same(*results)


attack(name="rounding_modes_of_cartpole")(lambda: rounding("CartPole-v1", 8192))
attack(name="rounding_modes_of_acrobot")(lambda: rounding("Acrobot-v1", 8192))
attack(name="rounding_modes_of_pendulum")(lambda: rounding("Pendulum-v1", 8192))
attack(name="rounding_modes_of_hopper", needs=("mujoco",))(lambda: rounding("Hopper-v5", 6))


# ---- the same process-wide switches --------------------------------------------------------------------------------


def build_info_beside(env_id, lanes):
    """Rollouts are the same while another thread asks for build_info()."""
    env, twin = (begun(make(env_id, lanes)) for _ in range(2))
    running = inside(lambda: [env.rollout(zeros(env, steps=20))[0].tobytes() for _ in range(15)])
    while running.running:
        batchenv.build_info()
    same(running.result(), [twin.rollout(zeros(twin, steps=20))[0].tobytes() for _ in range(15)])


attack(name="build_info_beside_steps")(lambda: build_info_beside("CartPole-v1", 20_000))
attack(name="build_info_beside_acrobot")(lambda: build_info_beside("Acrobot-v1", 4000))


@attack()
def refused_calls_change_nothing():
    complaints = Complaints()
    env, twin = (begun(slow(0.0, lanes=4)) for _ in range(2))
    snapshot = env.snapshot()
    mask = np.zeros(4, bool)
    refused = {
        "actions out of range": lambda: env.step([0, 1, 2, 4]),
        "actions of a wrong shape": lambda: env.step([0]),
        "a rollout out of range in its last step": lambda: env.rollout([[0] * 4] * 5 + [[0, 0, 0, 9]]),
        "a seed too few": lambda: env.reset(seed=[1, 2, 3]),
        "a wrong seed among good ones": lambda: env.reset(seed=[1, 2, 3, -4]),
        "an empty mask": lambda: env.reset(options={"reset_mask": mask}),
        "a lane twice": lambda: env.send([0, 0], [1, 1]),
        "a lane out of range": lambda: env.send([0, 0], [1, 4]),
        "a param out of range": lambda: env.set_params(end_probability=0.5, cost_us=-1.0),
        "an unknown param": lambda: env.set_params(end_probability=0.5, gravity=1.0),
        "one lane's param out of range": lambda: env.set_params(end_probability=[0.1, 0.2, 0.3, 4.0]),
        "a lane restored twice": lambda: env.restore(snapshot, [0, 0]),
        "half a snapshot": lambda: env.restore(bytes(snapshot)[:100]),
        "recv of nothing": lambda: env.recv(0),
        "step_wait of nothing": lambda: env.step_wait(),
        "a wrong random rollout": lambda: env.rollout(-1, policy="random", seed=4),
    }
    for what, call in refused.items():
        with complaints.about(what):
            clear(call, Exception)
            same(bytes(env.snapshot()), bytes(twin.snapshot()), "snapshots")
            same(env.get_params(), twin.get_params())
            same(env.np_random_seed, twin.np_random_seed)
    complaints.tell()
    same(future(env), future(twin))
    same([*env.rollout(3, policy="random", seed=1)], [*twin.rollout(3, policy="random", seed=1)])
    for _ in rounds(1):
        same([*env.rollout(3, policy="random")], [*twin.rollout(3, policy="random")])
