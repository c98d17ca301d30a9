"""dm_control's suite as the reference, with any version of MuJoCo that it can be made to run with."""

import os

import numpy as np

import batchenv


def load():
    """The module dm_control.suite.

    dm_control knows some fields of MuJoCo's structs that MuJoCo 4 no longer has. The suite reads none of them, so they
    are taken out of dm_control's list.

    Raises:
        ImportError: dm_control is not installed.
    """
    os.environ.setdefault("MUJOCO_GL", "disabled")
    import mujoco
    from dm_control.mujoco.wrapper.mjbindings import sizes

    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    for kind, struct in (("mjmodel", model), ("mjdata", mujoco.MjData(model))):
        for name in [name for name in sizes.array_sizes[kind] if not hasattr(struct, name)]:
            del sizes.array_sizes[kind][name]
    from dm_control import suite
    from dm_control.mujoco import engine

    if os.environ["MUJOCO_GL"] == "disabled":  # a task that changes what is drawn asks for contexts: none exist
        engine.Physics.contexts = property(lambda _: None)
    return suite


def names():
    """("domain", "task") of all DM Control ids of batchenv."""
    ids = [env_id for env_id in batchenv.list_envs("dmc") if env_id.startswith("dm_control/")]
    return [tuple(env_id.removeprefix("dm_control/").removesuffix("-v0").split("-")) for env_id in ids]


def differences(domain, task, seed=0, lanes=2, steps=300, limit=100, hold=1, **keywords):
    """Plays a task in batchenv and in dm_control with the same actions, and yields what differs in any bit: (step,
    lane, what). Step 0 is the first reset; episodes have `limit` steps.

    hold: how many steps each action is repeated. keywords: of batchenv.make; fully_observable goes to both.
    """
    env = batchenv.make(f"dm_control/{domain}-{task}-v0", lanes, max_episode_steps=limit, **keywords)
    shared = {name: value for name, value in keywords.items() if name == "fully_observable"}
    references = [load().load(domain, task, task_kwargs={"random": seed + lane, **shared}) for lane in range(lanes)]
    for reference in references:
        reference._step_limit = limit
    spec, rng = references[0].action_spec(), np.random.default_rng(seed)
    low, high = np.maximum(spec.minimum, -2), np.minimum(spec.maximum, 2)
    observations, _ = env.reset(seed=seed)
    expected = [reference.reset() for reference in references]
    rewards, terminations, truncations, infos = np.zeros(lanes), np.zeros(lanes, bool), np.zeros(lanes, bool), {}
    for step in range(steps):
        for lane, one in enumerate(expected):
            assert observations.keys() == one.observation.keys()
            found = {key: observations[key][lane] for key in one.observation}
            right = dict(one.observation)
            if not one.first():
                found |= {"reward": rewards[lane], "discount": infos["discount"][lane]}
                found |= {"last": terminations[lane] or truncations[lane], "terminated": terminations[lane]}
                right |= {"reward": one.reward, "discount": one.discount}
                right |= {"last": one.last(), "terminated": one.last() and one.discount == 0}
            for key, value in right.items():
                value, other = np.asarray(value), np.asarray(found[key])
                if (value.dtype, value.shape, value.tobytes()) != (other.dtype, other.shape, other.tobytes()):
                    yield step, lane, key
        if step % hold == 0:
            actions = rng.uniform(low, high, (lanes, *spec.shape))
        observations, rewards, terminations, truncations, infos = env.step(actions)
        expected = [reference.step(action) for reference, action in zip(references, actions, strict=True)]
    env.close()


def picture_differences(domain, task, seed=0, lanes=2, steps=4, limit=3, camera=0, size=(84, 84), **keywords):
    """The same for observation="pixels" and dm_control's `physics.render`: yields (step, lane, how many numbers)."""
    env = batchenv.make(
        f"dm_control/{domain}-{task}-v0", lanes, observation="pixels", max_episode_steps=limit, clip_actions=True,
        camera_id=camera, height=size[0], width=size[1], **keywords,
    )  # fmt: skip
    references = [load().load(domain, task, task_kwargs={"random": seed + lane}) for lane in range(lanes)]
    for reference in references:
        reference._step_limit = limit
        reference.reset()
    pictures, _ = env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for step in range(steps):
        for lane, reference in enumerate(references):
            expected = reference.physics.render(*size, camera_id=camera)
            assert (pictures.dtype, pictures.shape[1:], expected.std() > 0) == (np.uint8, expected.shape, True)
            if (expected != pictures[lane]).any():
                yield step, lane, int((expected != pictures[lane]).sum())
        actions = rng.uniform(-1, 1, env.action_space.shape)
        pictures, *_ = env.step(actions)
        for reference, action in zip(references, actions, strict=True):
            reference.step(action)
    env.close()
    for reference in references:
        reference.physics.free()
