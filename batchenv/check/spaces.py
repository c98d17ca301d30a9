"""What an env says about itself: spaces, metadata, spec."""

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from batchenv.check.rules import NotApplicable, Theme, Violation, brief, must_raise, require
from batchenv.check.trial import Trial

FIRST = Theme("first steps")
THEME = Theme("spaces and metadata")


@FIRST.contract(
    rule="An env can be made; reset(seed=0) returns (observations, infos), and step(actions) returns five values.",
    why="Otherwise nothing else can be checked, and no learner can use the env.",
)
def makes_resets_and_steps(trial: Trial) -> None:
    env = trial.make()
    for name in ("num_envs", "single_observation_space", "single_action_space", "observation_space", "action_space"):
        require(hasattr(env, name), f"the env has no {name}")
    result = env.reset(seed=0)
    require(isinstance(result, tuple) and len(result) == 2, f"reset(seed=0) returned {brief(result)}")
    require(isinstance(result[1], dict), f"reset(seed=0) returned as infos {brief(result[1])}")
    result = env.step(trial.actions(1)[0])
    require(isinstance(result, tuple) and len(result) == 5, f"step(actions) returned {brief(result)}")
    require(isinstance(result[4], dict), f"step(actions) returned as infos {brief(result[4])}")


@THEME.contract(
    rule="The env is a gymnasium.vector.VectorEnv.",
    why="Gymnasium's vector wrappers raise TypeError for anything else, and learners recognise vector envs by it.",
)
def is_vector_env(trial: Trial) -> None:
    env = trial.make()
    require(isinstance(env, VectorEnv), f"type(env).__mro__ is {[cls.__name__ for cls in type(env).__mro__]}")


@THEME.contract(
    rule="observation_space is single_observation_space batched num_envs times.",
    why="Wrappers and learners allocate buffers by it; if it is the single space, buffers have no axis of lanes.",
)
def observation_space_is_batched(trial: Trial) -> None:
    env = trial.make()
    _require_batched(env.observation_space, env.single_observation_space, env.num_envs)


@THEME.contract(
    rule="action_space is single_action_space batched num_envs times.",
    why="env.step(env.action_space.sample()) is how users and tests drive an env; a single action is not a batch.",
)
def action_space_is_batched(trial: Trial) -> None:
    env = trial.make()
    _require_batched(env.action_space, env.single_action_space, env.num_envs)


def _require_batched(given, single, lanes) -> None:
    text = _unlike(given, batch_space(single, lanes))
    require(not text, f"{brief(given)} for {lanes} lanes of {brief(single)}: {text}")


def _unlike(given: spaces.Space, wanted: spaces.Space, path: str = "") -> str:
    """In which part two spaces differ in their form; "" in none. Bounds may differ (SyncVectorEnv's
    observation_mode="different")."""
    where = f" in {path[1:]}" if path else ""
    if type(given) is not type(wanted) or given.shape != wanted.shape or given.dtype != wanted.dtype:
        return f"{brief(given, 80)} instead of {brief(wanted, 80)}{where}"
    if not (isinstance(wanted, (spaces.Dict, spaces.Tuple)) and isinstance(given, (spaces.Dict, spaces.Tuple))):
        return ""
    ours, theirs = (dict(x.items() if isinstance(x, spaces.Dict) else enumerate(x.spaces)) for x in (given, wanted))
    if ours.keys() != theirs.keys():
        return f"the parts {list(ours)} instead of {list(theirs)}{where}"
    return next((text for key in theirs if (text := _unlike(ours[key], theirs[key], f"{path}/{key}"))), "")


@THEME.contract(
    rule='metadata["autoreset_mode"] is a gymnasium.vector.AutoresetMode.',
    why="Without it make_vec warns and wrappers assume NextStep; if it is a str, they raise TypeError.",
)
def autoreset_mode_is_declared(trial: Trial) -> None:
    env = trial.make()
    metadata = getattr(env, "metadata", None)
    if not isinstance(metadata, dict) or "autoreset_mode" not in metadata:
        raise Violation(f"metadata is {brief(metadata)}")
    mode = metadata["autoreset_mode"]
    require(isinstance(mode, AutoresetMode), f'metadata["autoreset_mode"] is {brief(mode)}, a {type(mode).__name__}')


@THEME.contract(
    rule="An env that was made with an autoreset mode declares that mode.",
    why="If it declares another one, learners mix up the last observation of an episode and the first of the next one.",
)
def autoreset_mode_is_the_one_asked_for(trial: Trial) -> None:
    if trial.asked is None:
        raise NotApplicable("no mode was asked for")
    mode = (getattr(trial.make(), "metadata", None) or {}).get("autoreset_mode")
    if not isinstance(mode, AutoresetMode):
        raise NotApplicable("see autoreset_mode_is_declared")
    require(mode.value == trial.asked, f"asked for {trial.asked}, metadata says {mode.value}")


@THEME.contract(
    rule="An env's metadata is its own: making another env does not change it.",
    why="Wrappers read the mode there when they are made; in a shared dict they find that of the last env made.",
)
def metadata_is_the_envs_own(trial: Trial) -> None:
    env = trial.make()
    if not isinstance(getattr(env, "metadata", None), dict):
        raise NotApplicable("see autoreset_mode_is_declared")
    require(
        env.metadata is not VectorEnv.metadata or not env.metadata,
        f"env.metadata is VectorEnv.metadata, the base class's own dict, and holds {brief(env.metadata)}",
    )
    if trial.asked is None:
        return
    before = dict(env.metadata)
    for other in AutoresetMode:
        if other.value == trial.asked:
            continue
        try:
            trial.target.make(other.value).close()
        except Exception:
            continue  # a mode that is not offered
        require(
            dict(env.metadata) == before, f"after an env in mode {other.value} was made: {brief(dict(env.metadata))}"
        )


@THEME.contract(
    rule="num_envs is the number of lanes asked for, an int of at least 1.",
    why="Every buffer and loop of a learner depends on it.",
)
def num_envs_is_right(trial: Trial) -> None:
    env = trial.make()
    require(isinstance(env.num_envs, (int, np.integer)) and env.num_envs >= 1, f"num_envs is {brief(env.num_envs)}")
    if trial.target.instance is None and trial.target.lanes is not None:
        require(env.num_envs == trial.target.lanes, f"asked for {trial.target.lanes}, num_envs is {env.num_envs}")


@THEME.practice(
    rule="repr(env) works.", why="Gymnasium's warnings and errors print the env; if repr raises, its error hides them."
)
def has_a_repr(trial: Trial) -> None:
    require(isinstance(repr(trial.make()), str), "repr(env) is no str")


@THEME.contract(
    rule="env.unwrapped.spec may be set to an EnvSpec, and the env goes on working.",
    why="gymnasium.make_vec sets the spec of every env that it makes; an env that keeps state of its own there breaks.",
    needs_factory=True,
)
def spec_can_be_set(trial: Trial) -> None:
    from gymnasium.envs.registration import EnvSpec

    env = trial.make()
    spec = EnvSpec("Checked-v0", entry_point="nothing:Nothing")
    getattr(env, "unwrapped", env).spec = spec
    require(env.spec is spec, f"env.spec is {brief(env.spec)} after setting it")
    action = trial.actions(1)[0]
    require(env.single_observation_space is not None and env.single_action_space is not None, "a single space is None")
    env.reset(seed=0)
    env.step(action)


@THEME.contract(
    rule="gymnasium.make_vec(env.spec) makes the env again, with the same class, lanes, mode and spec.",
    why="Experiments are recorded by their spec, and repeated from it.",
    needs_factory=True,
)
def spec_round_trip(trial: Trial) -> None:
    import gymnasium
    from gymnasium.envs.registration import EnvSpec

    env = trial.make()
    spec = getattr(env, "spec", None)
    if not isinstance(spec, EnvSpec):
        raise NotApplicable(f"env.spec is {brief(spec, 60)}: not made by make_vec")
    if getattr(env, "unwrapped", env) is not env:
        raise NotApplicable("the spec of a vector env does not record wrappers")
    again = gymnasium.make_vec(spec)
    try:
        for what, one, two in (
            ("class", type(env), type(again)),
            ("num_envs", env.num_envs, again.num_envs),
            ("autoreset_mode", env.metadata.get("autoreset_mode"), again.metadata.get("autoreset_mode")),
            ("spec", spec, again.spec),
        ):
            require(one == two, f"{what}: {brief(one)} became {brief(two)}")
    finally:
        again.close()


@THEME.practice(
    rule="get_attr(name), if there is one, returns a tuple of num_envs values; unknown names raise AttributeError.",
    why="Code written for SyncVectorEnv reads one value per lane from it.",
)
def get_attr_gives_one_value_a_lane(trial: Trial) -> None:
    env, _ = trial.start()
    if not hasattr(env, "get_attr"):
        raise NotApplicable("there is no get_attr, which VectorEnv does not demand")
    values = env.get_attr("action_space")
    require(
        isinstance(values, tuple) and len(values) == env.num_envs, f"get_attr('action_space') returned {brief(values)}"
    )
    must_raise(
        lambda: env.get_attr("no_such_attribute"), "get_attr('no_such_attribute') returned ", brief, AttributeError
    )


@THEME.practice(
    rule="set_attr(name, values), if there is one, raises ValueError for a list of the wrong length.",
    why="Otherwise some lanes silently keep the old value.",
)
def set_attr_checks_the_length(trial: Trial) -> None:
    env, _ = trial.start()
    if not hasattr(env, "set_attr"):
        raise NotApplicable("there is no set_attr, which VectorEnv does not demand")
    many = env.num_envs + 1
    seen = f"with {env.num_envs} lanes, set_attr('render_mode', [None] * {many}) was accepted"
    must_raise(lambda: env.set_attr("render_mode", [None] * many), seen, kind=ValueError)
