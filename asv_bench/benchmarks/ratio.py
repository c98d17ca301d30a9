"""How many times faster than others: ratios move less with the machine's load than times do."""

import importlib.util

import gymnasium

from batchenv.cli import bench

from .ids import KERNELS


def against(peer, env_id, lanes):
    """The ratio to `peer`; of its numbers of threads, to the best."""
    contestants, notes = bench.contestants_for(env_id, lanes, peers=[peer])
    peers = [name for name in contestants if name != bench.OURS]
    if not peers:
        raise RuntimeError("; ".join(notes))
    rates = bench.measure(contestants, lanes, seconds=0.5)
    return min(bench.ratio(rates[bench.OURS], rates[name]) for name in peers)


def track_ratio_sync_vector_env(env_id, lanes):
    return against("SyncVectorEnv", env_id, lanes)


SYNC = [name for name in KERNELS if name in gymnasium.registry]
track_ratio_sync_vector_env.params = (SYNC, [1, 64])
track_ratio_sync_vector_env.param_names = ("env", "lanes")
track_ratio_sync_vector_env.unit = "ratio"


def track_ratio_cartpole_vector_env(lanes):
    return against("CartPoleVectorEnv", "CartPole-v1", lanes)


track_ratio_cartpole_vector_env.params = [64, 4096, 65536]
track_ratio_cartpole_vector_env.param_names = ("lanes",)
track_ratio_cartpole_vector_env.unit = "ratio"


def track_ratio_envpool(env_id):
    return against("EnvPool", env_id, 4096)


def needs_envpool(env_id):
    if importlib.util.find_spec("envpool") is None:
        raise NotImplementedError("EnvPool is not installed")  # asv's way to skip


track_ratio_envpool.setup = needs_envpool
track_ratio_envpool.params = KERNELS
track_ratio_envpool.param_names = ("env",)
track_ratio_envpool.unit = "ratio"
