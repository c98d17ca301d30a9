"""batchenv.integrations.ray on a cluster of several nodes, one of which is lost."""

import os
import sys

import numpy as np
import pytest

import batchenv

ray = pytest.importorskip("ray", reason="needs ray: pip install 'batchenv[ray]'")

from ray.cluster_utils import Cluster  # noqa: E402

from batchenv.integrations.fragments import FragmentMaker  # noqa: E402
from batchenv.integrations.ray import RaySampler  # noqa: E402

LANES, STEPS, SEED = 64, 100, 5
PATIENCE = 300  # seconds: a busy machine takes long to start an actor
ROWS = ("observations", "actions", "rewards", "terminations", "truncations")


@pytest.fixture
def cluster():
    """A cluster with a node for this process and two nodes for actors, each with an object store of its own."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    where = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}  # actors import this module, too
    memory = 100 * 2**20
    head = {"num_cpus": 0, "object_store_memory": memory, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        cluster.nodes = [cluster.add_node(num_cpus=2, object_store_memory=memory) for _ in range(2)]
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR", runtime_env={"env_vars": where})
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def place_of(node):
    """A number of a node that fits into a fragment."""
    return int(node[:12], 16)


def dice(weights, observations, rng):
    node = place_of(ray.get_runtime_context().get_node_id()) if ray.is_initialized() else 0
    return rng.integers(0, 2, LANES), {"node": np.full(LANES, node)}


def expected(actor, count):
    """An actor's fragments, made in this process."""
    maker = FragmentMaker(lambda: batchenv.make("CartPole-v1", LANES), dice, STEPS, SEED, actor)
    made = []
    for number in range(count):
        fragment = maker.fragment(number, 0, None)
        made.append([getattr(fragment, name).copy() for name in ROWS])
    return made


def test_a_node_that_is_lost_takes_no_fragment_with_it(cluster):
    with RaySampler("CartPole-v1", LANES, 2, STEPS, policy=dice, seed=SEED, num_cpus=1) as sampler:
        got = {0: [], 1: []}

        def take():
            fragment = sampler.take(PATIENCE)
            got[fragment.actor].append(fragment)

        while not (got[0] and got[1]):
            take()
        # Fragments that nobody has taken lie in the object stores of the nodes that made them.
        made = [call.results[0] for place in sampler._places for call in place.calls]
        assert len(ray.wait(made, num_returns=4, timeout=PATIENCE, fetch_local=False)[0]) == 4
        lost_place = got[0][0].extras["node"][0, 0]
        on_it = {k for k in got if got[k][0].extras["node"][0, 0] == lost_place}
        (lost,) = [node for node in cluster.nodes if place_of(node.node_id) == lost_place]
        before = {k: len(fragments) for k, fragments in got.items()}  # one actor may have started much earlier
        cluster.remove_node(lost, allow_graceful=False)
        with pytest.warns(UserWarning, match="its lanes go on from their last snapshot"):
            while any(len(got[k]) < before[k] + 4 for k in got):
                take()
        assert {loss.actor for loss in sampler.losses} == on_it
    for k, fragments in got.items():
        assert [f.number for f in fragments] == list(range(len(fragments)))  # each once, in their order
        for fragment, want in zip(fragments, expected(k, len(fragments)), strict=True):
            for name, rows in zip(ROWS, want, strict=True):
                np.testing.assert_array_equal(getattr(fragment, name), rows)
        assert fragments[-1].extras["node"][0, 0] != lost_place
