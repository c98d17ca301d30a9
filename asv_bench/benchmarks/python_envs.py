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
