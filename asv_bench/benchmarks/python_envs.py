"""Environments written in Python: workers against Gymnasium's vector envs."""

from . import python_figures as figures

ROUNDS = 5


def track_ratio_sync(lanes, kind):
    took = figures.cartpole(lanes, ROUNDS, (kind,), ("Sync",))
    return took["Sync"] / took[kind]


track_ratio_sync.params = ([1, 8, 64], ["serial", "processes"])
track_ratio_sync.param_names = ("lanes", "workers")
track_ratio_sync.unit = "ratio"


def track_ratio_async(lanes):
    took = figures.cartpole(lanes, ROUNDS, ("processes",), ("Async",))
    return took["Async"] / took["processes"]


track_ratio_async.params = [8, 64]
track_ratio_async.param_names = ("lanes",)
track_ratio_async.unit = "ratio"


def track_pictures():
    took = figures.pictures(ROUNDS)
    return took["Async"] / took["processes"]


track_pictures.unit = "ratio"


def track_round_trip():
    taken, work = figures.round_trip(ROUNDS)
    return 1e6 * (taken - work)


track_round_trip.unit = "us"


def track_waiting(call):
    """256 envs that wait for 50 ms in one event loop: the share of what is possible."""
    return 0.05 / figures.waiting(0.05, ROUNDS)[call]


track_waiting.params = ["step", "recv"]
track_waiting.param_names = ("call",)
track_waiting.unit = "share"


def track_coroutines(call):
    """Steps of an event loop that do not wait: how many times longer than asyncio.gather they take."""
    took = figures.waiting(0.0, ROUNDS)
    return took[call] / took["gather"]


track_coroutines.params = ["step", "recv"]
track_coroutines.param_names = ("call",)
track_coroutines.unit = "ratio"
