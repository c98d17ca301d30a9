"""How many times faster than Gymnasium: ratios move less with the machine's load than times do."""

import batchenv
from batchenv import bench
from batchenv.registry import TABLE

KERNELS = [env_id for env_id in batchenv.list_envs() if not TABLE[env_id].over_engine]


def against(peer, env_id, lanes):
    contestants, notes = bench.contestants_for(env_id, lanes, peers=[peer])
    if peer not in contestants:
        raise RuntimeError("; ".join(notes))
    rates = bench.measure(contestants, lanes, seconds=0.5)
    return bench.ratio(rates[bench.OURS], rates[peer])


def track_ratio_sync_vector_env(env_id, lanes):
    return against("SyncVectorEnv", env_id, lanes)


track_ratio_sync_vector_env.params = (KERNELS, [1, 64])
track_ratio_sync_vector_env.param_names = ("env", "lanes")
track_ratio_sync_vector_env.unit = "ratio"


def track_ratio_cartpole_vector_env(lanes):
    return against("CartPoleVectorEnv", "CartPole-v1", lanes)


track_ratio_cartpole_vector_env.params = [64, 4096, 65536]
track_ratio_cartpole_vector_env.param_names = ("lanes",)
track_ratio_cartpole_vector_env.unit = "ratio"
