"""Walk: a small vector env that keeps every rule of batchenv.check; and, for each check, one that breaks it."""

import copy
import os
import time
from types import SimpleNamespace

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

BROKEN = {}  # name of a check -> (an env that fails it and no other, the mode that shows it)


class Walk(VectorEnv):
    """Steps of -1, 0, 1 along a line; over when right of the start after 9 steps, or after 11."""

    limit = 11
    single_observation_space = spaces.Box(-20.0, 20.0, (1,), np.float32)
    single_action_space = spaces.Discrete(3)

    def __init__(self, num_envs=3, autoreset_mode="NextStep"):
        self.mode = AutoresetMode(autoreset_mode)
        self.metadata = {"autoreset_mode": self.mode}
        self.num_envs = num_envs
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.rngs = [None] * num_envs
        self.place, self.age = np.zeros(num_envs), np.zeros(num_envs, int)
        self.over = np.zeros(num_envs, bool)
        self.finish()

    # ---- parts that broken ones replace ------------------------------------------------------------------------

    def finish(self):
        """The end of the making."""

    def seeds(self, seed):
        if isinstance(seed, list):
            if len(seed) != self.num_envs:
                raise ValueError(f"{len(seed)} seeds for {self.num_envs} lanes")
            return seed
        return [None if seed is None else seed + lane for lane in range(self.num_envs)]

    def mask(self, options):
        if "reset_mask" not in (options or {}):
            return np.ones(self.num_envs, bool)
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(f"reset_mask={mask!r}")
        return mask

    def seed_lane(self, lane, seed):
        if seed is not None or self.rngs[lane] is None:
            self.rngs[lane] = np.random.default_rng(seed)

    def start(self, lane):
        self.place[lane], self.age[lane] = self.rngs[lane].uniform(-1, 1), 0

    def restart(self, lane):
        self.start(lane)

    def check_actions(self, actions):
        actions = np.array(actions)
        if actions.shape != self.action_space.shape or not ((actions >= 0) & (actions < 3)).all():
            raise ValueError(f"actions={actions!r}")
        return actions

    def move(self, lane, action):
        self.place[lane] += float(np.squeeze(action)) - 1
        self.age[lane] += 1
        return 1.0

    def obs(self):
        return self.place.astype(np.float32)[:, None]

    def infos(self):
        return {"age": self.age.copy(), "_age": np.ones(self.num_envs, bool)}

    def final(self, ended, obs):
        last = np.full(self.num_envs, None)
        for lane in np.flatnonzero(ended):
            last[lane] = obs[lane]
        info = {"age": self.age * ended, "_age": ended.copy()}
        return {"final_obs": last, "_final_obs": ended.copy(), "final_info": info, "_final_info": ended.copy()}

    # ---- the whole ---------------------------------------------------------------------------------------------

    def reset(self, *, seed=None, options=None):
        if self.closed:
            raise ClosedEnvironmentError("closed")
        mask = self.mask(options)
        for lane, one in enumerate(self.seeds(seed)):
            if mask[lane]:
                self.seed_lane(lane, one)
                self.start(lane)
        self.over = self.over & ~mask
        return self.obs(), self.infos()

    def step(self, actions):
        if self.closed:
            raise ClosedEnvironmentError("closed")
        if self.rngs[0] is None:
            raise ResetNeeded("reset first")
        if self.mode is AutoresetMode.DISABLED and self.over.any():
            raise ResetNeeded("a lane is over")
        actions = self.check_actions(actions)
        rewards = np.zeros(self.num_envs)
        pending = self.over
        for lane in range(self.num_envs):
            if pending[lane]:
                self.restart(lane)
            else:
                rewards[lane] = self.move(lane, actions[lane])
        terminations = (self.age >= 9) & (self.place > 0) & ~pending
        truncations = (self.age >= self.limit) & ~pending
        ended = terminations | truncations
        extra, obs = {}, self.obs()
        if self.mode is AutoresetMode.SAME_STEP and ended.any():
            extra = self.final(ended, obs)
            for lane in np.flatnonzero(ended):
                self.restart(lane)
            obs = self.after_restart(obs)
        self.over = ended if self.mode is not AutoresetMode.SAME_STEP else np.zeros(self.num_envs, bool)
        return obs, rewards, terminations, truncations, {**self.infos(), **extra}

    def after_restart(self, obs):
        return self.obs()

    def get_attr(self, name):
        return tuple(getattr(self, {"action_space": "single_action_space"}.get(name, name)) for _ in self.rngs)

    def set_attr(self, name, values):
        if isinstance(values, (list, tuple)) and len(values) != self.num_envs:
            raise ValueError(f"{len(values)} values")


class Slide(Walk):
    """The same with a real number as action."""

    single_action_space = spaces.Box(0.0, 2.0, (1,), np.float32)

    def check_actions(self, actions):
        actions = np.array(actions)
        if actions.shape != self.action_space.shape or not ((actions >= 0) & (actions <= 2)).all():
            raise ValueError(f"actions={actions!r}")
        return actions


class Planned(Walk):
    """The same with plans of seeds, or of snapshots."""

    entries = None

    def plan(self, *, seeds=None, labels=None, snapshots=None):
        self.entries, self.labels = list(seeds if snapshots is None else snapshots), labels
        self.taken, self.entry = np.zeros(self.num_envs, int), np.full(self.num_envs, -1)
        return SimpleNamespace(end=self.end_plan)

    def end_plan(self):
        self.entries = None

    def snapshot(self, lanes):
        return [(self.place[lane], self.age[lane], copy.deepcopy(self.rngs[lane])) for lane in lanes]

    def item(self, lane):
        return (lane + self.taken[lane] * self.num_envs) % len(self.entries)

    def start(self, lane):
        if self.entries is None:
            super().start(lane)
            return
        self.entry[lane] = self.item(lane)
        self.taken[lane] += 1
        entry = self.entries[self.entry[lane]]
        if isinstance(entry, int):
            self.rngs[lane] = np.random.default_rng(entry)
            super().start(lane)
        else:
            self.place[lane], self.age[lane], self.rngs[lane] = copy.deepcopy(entry)

    def step(self, actions):
        entries = None if self.entries is None else self.entry.copy()
        obs, rewards, terminations, truncations, infos = super().step(actions)
        ended = terminations | truncations
        if entries is not None and self.labels is not None and ended.any():
            entries[~ended] = -1
            infos["episode"] = {"entry": entries, "label": np.array(self.labels)[entries]}
        return obs, rewards, terminations, truncations, infos


gymnasium.register("checked/Walk-v0", vector_entry_point=Walk)


def breaks(check, mode="NextStep"):
    def add(cls):
        BROKEN[check] = cls, mode
        return cls

    return add


@breaks("makes_resets_and_steps")
class FourThings(Walk):
    def step(self, actions):
        return super().step(actions)[:4]


@breaks("is_vector_env")
class Duck:
    def __init__(self, num_envs=3, autoreset_mode="NextStep"):
        self.walk = Walk(num_envs, autoreset_mode)

    def __getattr__(self, name):
        return getattr(self.walk, name)


@breaks("observation_space_is_batched")
class SingleObservationSpace(Walk):
    def finish(self):
        self.observation_space = self.single_observation_space


@breaks("action_space_is_batched")
class SingleActionSpace(Walk):
    def finish(self):
        self.action_space = self.single_action_space

    def check_actions(self, actions):
        if np.shape(actions) != (self.num_envs,) or not ((actions >= 0) & (actions < 3)).all():
            raise ValueError(f"actions={actions!r}")
        return actions


@breaks("autoreset_mode_is_declared")
class ModeAsStr(Walk):
    def finish(self):
        self.metadata["autoreset_mode"] = self.mode.value


@breaks("autoreset_mode_is_the_one_asked_for", mode=None)
class AlwaysSaysNextStep(Walk):
    def finish(self):
        self.metadata["autoreset_mode"] = AutoresetMode.NEXT_STEP


@breaks("metadata_is_the_envs_own", mode=None)
class SharedMetadata(Walk):
    shared = {}

    def finish(self):
        self.shared.update(self.metadata)
        self.metadata = self.shared


@breaks("num_envs_is_right")
class OneLaneMore(Walk):
    def __init__(self, num_envs=3, *args, **kwargs):
        super().__init__(num_envs + 1, *args, **kwargs)


@breaks("has_a_repr")
class NoRepr(Walk):
    def __repr__(self):
        return self.spec.id


@breaks("spec_can_be_set")
class StateInSpec(Walk):
    def finish(self):
        self.spec = SimpleNamespace(step=1.0, id="Walk")

    def move(self, lane, action):
        return super().move(lane, action) * self.spec.step


@breaks("spec_round_trip")
class WrongSpec(Walk):
    def finish(self):
        self.spec = gymnasium.spec("checked/Walk-v0")


@breaks("get_attr_gives_one_value_a_lane")
class OneAttribute(Walk):
    def get_attr(self, name):
        return super().get_attr(name)[0]


@breaks("set_attr_checks_the_length")
class AnyLength(Walk):
    def set_attr(self, name, values):
        pass


@breaks("reseeding_replays")
class FirstSeedOnly(Walk):
    def seed_lane(self, lane, seed):
        super().seed_lane(lane, seed if self.rngs[lane] is None else None)


@breaks("two_envs_agree")
class Numbered(Walk):
    made = 0

    def finish(self):
        Numbered.made += 1
        self.number = Numbered.made

    def move(self, lane, action):
        return super().move(lane, action) + self.number


@breaks("unseeded_envs_differ")
class FixedFirstSeed(Walk):
    def seed_lane(self, lane, seed):
        super().seed_lane(lane, 42 + lane if seed is None and self.rngs[lane] is None else seed)


@breaks("reset_without_a_seed_goes_on")
class LastSeedAgain(Walk):
    last = {}

    def seed_lane(self, lane, seed):
        self.last = {**self.last, lane: self.last.get(lane) if seed is None else seed}
        super().seed_lane(lane, self.last[lane])


@breaks("lanes_differ")
class Twins(Walk):
    def seed_lane(self, lane, seed):
        super().seed_lane(lane, seed - 1 if lane == 2 and seed is not None else seed)


@breaks("lane_i_has_seed_plus_i")
class OneStream(Walk):
    def seeds(self, seed):
        return super().seeds(seed if seed is None or isinstance(seed, list) else seed * 1000)


@breaks("seeds_may_be_a_list")
class IntSeeds(Walk):
    def seeds(self, seed):
        return super().seeds(None if seed is None else int(seed))


@breaks("reset_forgets_the_end")
class RemembersTheEnd(Walk):
    def reset(self, *, seed=None, options=None):
        over = self.over
        result = super().reset(seed=seed, options=options)
        if options is None:
            self.over = over
        return result


@breaks("episodes_start_anew")
class SameEpisode(Walk):
    def seed_lane(self, lane, seed):
        super().seed_lane(lane, seed)
        self.states = {**getattr(self, "states", {}), lane: self.rngs[lane].bit_generator.state}

    def restart(self, lane):
        self.rngs[lane].bit_generator.state = self.states[lane]
        self.start(lane)


@breaks("masked_reset_is_for_the_masked")
class NoMask(Walk):
    def mask(self, options):
        return np.ones(self.num_envs, bool)


@breaks("masked_reset_spares_the_others")
class Disturbed(Walk):
    hidden = 0.0

    def mask(self, options):
        mask = super().mask(options)
        self.hidden = 0.0 if mask[1] else 0.5
        return mask

    def move(self, lane, action):
        return super().move(lane, action) + (self.hidden if lane == 1 else 0)


@breaks("bad_masks_raise")
class EasyMask(Walk):
    def mask(self, options):
        return np.resize(np.array((options or {}).get("reset_mask", True), bool), self.num_envs)


@breaks("reset_leaves_options_alone")
class Pops(Walk):
    def mask(self, options):
        mask = super().mask(options)
        (options or {}).pop("reset_mask", None)
        return mask


@breaks("masked_reset_forgets_the_end")
class RemembersTheMaskedEnd(Walk):
    def reset(self, *, seed=None, options=None):
        over = self.over
        result = super().reset(seed=seed, options=options)
        if options is not None:
            self.over = over
        return result


@breaks("observations_fit_the_space")
class WrongDtype(Walk):
    def obs(self):
        return self.place.copy()[:, None]


@breaks("observations_are_in_bounds")
class OutOfBounds(Walk):
    def obs(self):
        return super().obs() * 100


@breaks("rewards_and_flags_are_arrays")
class IntFlags(Walk):
    def step(self, actions):
        obs, rewards, terminations, truncations, infos = super().step(actions)
        return obs, rewards, terminations.astype(np.int8), truncations, infos


@breaks("samples_are_taken")
class OtherActions(Walk):
    def finish(self):
        self.action_space = spaces.MultiDiscrete([3] * self.num_envs, start=[5] * self.num_envs)


@breaks("actions_are_left_alone")
class ZeroesActions(Walk):
    def step(self, actions):
        result = super().step(actions)
        actions[:] = 0
        return result


@breaks("step_before_reset_raises")
class ResetsItself(Walk):
    def step(self, actions):
        if self.rngs[0] is None:
            self.reset()
        return super().step(actions)


@breaks("too_few_actions_raise")
class Repeats(Walk):
    def check_actions(self, actions):
        return super().check_actions(np.resize(actions, self.num_envs) if len(actions) < self.num_envs else actions)


@breaks("too_many_actions_raise")
class DropsSurplus(Walk):
    def check_actions(self, actions):
        return super().check_actions(actions[: self.num_envs])


@breaks("actions_out_of_range_raise")
class Clips(Walk):
    def check_actions(self, actions):
        return super().check_actions(np.clip(actions, 0, 2))


@breaks("nan_actions_raise")
class TakesNaN(Slide):
    def check_actions(self, actions):
        super().check_actions(np.nan_to_num(np.asarray(actions)))
        return np.asarray(actions)


@breaks("refused_actions_change_nothing")
class MovesFirst(Walk):
    def check_actions(self, actions):
        for lane, action in enumerate(actions[: self.num_envs]):
            before = self.place[lane]
            self.place[lane] += action * 0.1
            if 0 <= action < 3 and len(actions) == self.num_envs:
                self.place[lane] = before
        return super().check_actions(actions)


@breaks("next_step_is_the_reset")
class RewardedReset(Walk):
    def step(self, actions):
        pending = self.over
        obs, rewards, *rest = super().step(actions)
        return obs, np.where(pending, 1.0, rewards), *rest


@breaks("next_step_ignores_the_action")
class ActsAtTheReset(Walk):
    def check_actions(self, actions):
        self.actions = super().check_actions(actions)
        return self.actions

    def restart(self, lane):
        super().restart(lane)
        self.place[lane] += 0.1 * self.actions[lane]


@breaks("same_step_gives_final_obs", "SameStep")
class EmptyFinalObs(Walk):
    def final(self, ended, obs):
        return {**super().final(ended, obs), "final_obs": np.full(self.num_envs, None)}


@breaks("same_step_masks_final_obs", "SameStep")
class AllTrueMask(Walk):
    def final(self, ended, obs):
        return {**super().final(ended, obs), "_final_obs": np.ones(self.num_envs, bool)}


@breaks("same_step_gives_final_info", "SameStep")
class NoFinalInfo(Walk):
    def final(self, ended, obs):
        extra = super().final(ended, obs)
        return {key: extra[key] for key in ("final_obs", "_final_obs")}


@breaks("same_step_returns_the_new_episode", "SameStep")
class ReturnsTheOld(Walk):
    def after_restart(self, obs):
        return obs


@breaks("disabled_goes_on_after_a_masked_reset", "Disabled")
class StaysOld(Walk):
    def start(self, lane):
        age = self.age[lane]
        super().start(lane)
        self.age[lane] = age if age >= self.limit else 0

    def step(self, actions):
        self.age += (self.age == 9) * 2  # all episodes last the whole time
        return super().step(actions)


@breaks("disabled_refuses_lanes_that_are_over", "Disabled")
class GoesOn(Walk):
    def step(self, actions):
        self.over[:] = False
        return super().step(actions)


@breaks("infos_have_an_entry_a_lane")
class ScalarInfo(Walk):
    def infos(self):
        return {**super().infos(), "total": 3, "_total": np.ones(self.num_envs, bool)}


@breaks("info_masks_are_masks")
class IntMask(Walk):
    def infos(self):
        return {**super().infos(), "_age": np.ones(self.num_envs, int)}


@breaks("infos_have_masks")
class NoMasks(Walk):
    def infos(self):
        return {"age": self.age.copy()}


@breaks("observations_do_not_change_later")
class OneObsBuffer(Walk):
    def obs(self):
        self.buffer = getattr(self, "buffer", np.zeros((self.num_envs, 1), np.float32))
        self.buffer[...] = super().obs()
        return self.buffer


@breaks("rewards_and_flags_do_not_change_later")
class OneRewardBuffer(Walk):
    def step(self, actions):
        obs, rewards, *rest = super().step(actions)
        self.buffer = getattr(self, "buffer", rewards)
        self.buffer[:] = rewards
        return obs, self.buffer, *rest


@breaks("infos_do_not_change_later")
class LiveInfos(Walk):
    def infos(self):
        return {**super().infos(), "age": self.age}


@breaks("results_may_be_written_into")
class FlagsAreState(Walk):
    limit = 9  # then truncations are all there is, and are what the env looks at

    def step(self, actions):
        obs, rewards, terminations, truncations, infos = super().step(actions)
        self.over = truncations
        return obs, rewards, terminations & ~truncations, truncations, infos


@breaks("close_may_be_called_twice")
class ClosesOnce(Walk):
    def close(self):
        if self.closed:
            raise ClosedEnvironmentError("closed already")
        super().close()


@breaks("close_sets_closed")
class SaysOpen(Walk):
    shut = False

    def close(self):
        self.shut = True

    def reset(self, **kwargs):
        if self.shut:
            raise ClosedEnvironmentError("closed")
        return super().reset(**kwargs)

    def step(self, actions):
        if self.shut:
            raise ClosedEnvironmentError("closed")
        return super().step(actions)


@breaks("step_after_close_raises")
class StepsOn(Walk):
    def step(self, actions):
        closed, self.closed = self.closed, False
        result = super().step(actions)
        self.closed = closed
        return result


@breaks("reset_after_close_raises")
class ResetsOn(Walk):
    def reset(self, *, seed=None, options=None):
        closed, self.closed = self.closed, False
        result = super().reset(seed=seed, options=options)
        self.closed = closed
        return result


# ---- observations of several parts -------------------------------------------------------------------------------


class Parts(Walk):
    """Two observations in a dict."""

    single_observation_space = spaces.Dict({"place": Walk.single_observation_space, "age": spaces.Discrete(20)})

    def obs(self):
        return {"place": super().obs(), "age": self.age.copy()}

    def final(self, ended, obs):
        infos = super().final(ended, obs["place"])
        for lane in np.flatnonzero(ended):
            infos["final_obs"][lane] = {"place": obs["place"][lane], "age": obs["age"][lane]}
        return infos


class OtherNames(Parts):
    """Its batched space has another name for one of them."""

    def finish(self):
        parts = dict(self.observation_space.spaces)
        self.observation_space = spaces.Dict({"where": parts.pop("place"), **parts})


class OtherParts(Parts):
    """Its batched space has the names, and another space under one of them."""

    def finish(self):
        ages = spaces.Box(0, 20, (self.num_envs,), np.float32)
        self.observation_space = spaces.Dict({**self.observation_space.spaces, "age": ages})


# ---- envs that take the process with them --------------------------------------------------------------------------


class Fatal(Walk):
    """Too few actions hang it, one too many aborts it, an action out of range exits."""

    def check_actions(self, actions):
        if len(actions) < self.num_envs:
            while True:
                time.sleep(1)
        if len(actions) > self.num_envs:
            print("Check failed: too many", flush=True)
            os.abort()
        if np.max(actions) > 2:
            os._exit(3)
        return super().check_actions(actions)


def fatal(num_envs=3):
    return Fatal(num_envs)


class Leaves(Walk):
    """Too few actions end the process, as if all was well."""

    def check_actions(self, actions):
        if len(actions) < self.num_envs:
            os._exit(0)
        return super().check_actions(actions)


def leaves(num_envs=3):
    return Leaves(num_envs)


def no_masks(num_envs=3):
    return NoMasks(num_envs)


def hangs(num_envs=3):
    while True:
        time.sleep(1)


def raises(num_envs=3):
    raise RuntimeError("no such game")


@breaks("plans_of_seeds")
class InDisorder(Planned):
    def item(self, lane):
        return (lane + self.taken[lane]) % len(self.entries)


@breaks("plans_of_snapshots")
class Inexact(Planned):
    def snapshot(self, lanes):
        return [(round(place), age, rng) for place, age, rng in super().snapshot(lanes)]
