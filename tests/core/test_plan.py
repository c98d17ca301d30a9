"""Whether work runs on several threads: the rule of csrc/core/run/plan.h, under a clock and costs that tests set."""

import ctypes

import pytest

from helpers import compiled
from helpers.processes import run_python

PATIENCE, PATIENCE_MAX = 32, 4096


class Plan(ctypes.Structure):
    """be_plan."""

    _fields_ = [
        *[(name, ctypes.c_int) for name in ("threads", "fixed", "parallel", "trying", "calls", "patience")],
        *[(name, ctypes.c_int) for name in ("few", "untimed")],
        *[(name, ctypes.c_double) for name in ("spent_ns", "wait_ns", "lost_ns", "fork_ns", "serial", "several")],
    ]


class World:
    """A plan and what work costs: `serial` and `several` nanoseconds a unit."""

    now = 0.0

    def __init__(self, lanes=1024, threads=4, by_lane=False, fork_ns=1000.0, **costs):
        self.library = compiled.library("plan.c")
        self.plan = Plan()
        self.library.plan_start(ctypes.byref(self.plan), ctypes.c_int64(lanes), threads, by_lane)
        self.plan.fork_ns = fork_ns
        self.costs = costs
        self.at(0.0)

    def at(self, now):
        World.now = now
        self.library.plan_set_clock(ctypes.c_double(now))

    def way(self, units=1000):
        return self.library.plan_way(ctypes.byref(self.plan), ctypes.c_double(units))

    def untimed(self):
        return self.library.plan_untimed(ctypes.byref(self.plan))

    def do(self, pieces, units=1000):
        """Which way the pieces of work went: (way, how often), one after the other."""
        went = []
        for _ in range(pieces):
            way = self.way(units)
            ns = units * self.costs["several" if way else "serial"]
            self.at(World.now + ns)
            self.library.plan_note(ctypes.byref(self.plan), way, ctypes.c_double(units), ctypes.c_double(ns))
            if went and went[-1][0] == way:
                went[-1][1] += 1
            else:
                went.append([way, 1])
        return [tuple(row) for row in went]


@pytest.fixture(autouse=True)
def no_plan_waits():
    ctypes.c_int64.in_dll(compiled.library("plan.c"), "be_plan_looks_after").value = 0


@pytest.mark.parametrize(
    "lanes, by_lane, threads",
    [
        *((16, False, 1), (17, False, 2), (64, False, 4), (255, False, 8), (256, False, 4), (257, False, 5)),
        *((10_000, False, 8), (3, True, 3), (9, True, 8), (1, True, 1)),
    ],
)
def test_threads_that_so_many_lanes_are_worth(lanes, by_lane, threads):
    assert World(lanes, 8, by_lane).plan.threads == threads


def test_both_ways_are_tried_and_the_faster_one_is_taken():
    """4 pieces on one thread, 5 on several, since the first has to wake them; then looks at the other way, after
    32 pieces and after twice as many each time that the choice is confirmed."""
    good = World(serial=10.0, several=4.0)
    assert good.do(4 + 5 + 32 + 4 + 64) == [(0, 4), (1, 5 + 32), (0, 4), (1, 64)]
    bad = World(serial=10.0, several=9.9)
    assert bad.do(4 + 5 + 32 + 5 + 64 + 5) == [(0, 4), (1, 5), (0, 32), (1, 5), (0, 64), (1, 5)]


def test_several_threads_must_save_a_twentieth():
    for several, better in ((9.4, 1), (9.5, 0), (9.6, 0)):
        world = World(serial=10.0, several=several)
        world.do(9)
        assert (world.way(), world.plan.trying) == (better, 0)


def test_patience_has_an_end():
    world = World(serial=3.0, several=2.9)
    looks = [row for row in world.do(3 * PATIENCE_MAX * 2) if row[0] == 0]
    assert [pieces for _, pieces in looks][1:-1] == [32, 64, 128, 256, 512, 1024, 2048, 4096, 4096, 4096, 4096]


def test_a_choice_that_changes_begins_with_little_patience():
    world = World(serial=10.0, several=9.9)
    world.do(4 + 5 + 32 + 5)
    world.costs["several"] = 4.0
    assert world.do(64 + 5 + 32 + 4) == [(0, 64), (1, 5 + 32), (0, 4)]


def test_threads_that_cost_more_than_one_are_left_at_once():
    world = World(serial=10.0, several=4.0)
    world.do(9)
    world.costs["several"] = 202.1  # the mean is over 32 pieces: 4 + 198.1 / 32 > 10
    assert world.do(2) == [(1, 1), (0, 1)]
    assert world.plan.patience == PATIENCE
    world = World(serial=10.0, several=4.0)
    world.do(9)
    world.costs["several"] = 195.9
    assert world.do(2) == [(1, 2)]


def test_what_one_thread_costs_is_the_least_seen_and_forgotten_slowly():
    world = World(serial=10.0, several=4.0, threads=1)
    world.do(1)
    world.costs["serial"] = 8.0
    world.do(1)
    assert world.plan.serial == 8.0
    world.costs["serial"] = 72.0
    world.do(1)
    assert world.plan.serial == 9.0


def test_what_several_threads_cost_is_the_mean_without_the_first():
    world = World(serial=10.0, several=90.0)
    world.do(5)  # the first one of several threads
    for k, cost in enumerate((4.0, 6.0, 8.0)):
        world.costs["several"] = cost
        world.do(1)
        assert world.plan.several == pytest.approx(5.0 - (k == 0) + (k == 2))


@pytest.mark.parametrize(
    "serial, fork_ns, tried",
    [
        (2000.0, 0.0, 0),
        (2001.0, 0.0, 1),
        (4000.0, 2599.0, 1),  # 4000 / 4 + 2600 is nine tenths of 4000
        (4000.0, 2601.0, 0),
        (8000.0, 1e9, 0),
        (8001.0, 1e9, 1),
    ],
)
def test_work_that_is_too_short_is_never_tried(serial, fork_ns, tried):
    world = World(serial=serial, several=1.0, fork_ns=fork_ns)
    world.do(4, units=1)
    assert world.way(1) == tried
    if not tried:
        assert world.do(200, units=1) == [(0, 200)]


def test_work_that_is_too_short_is_looked_at_ever_more_rarely():
    world = World(serial=1000.0, several=1.0)
    world.do(4, units=1)
    for pieces, patience in ((16, 32), (31, 32), (1, 64), (63, 64), (1, 128)):
        world.do(pieces, units=1)
        assert world.plan.patience == patience
    world.plan.patience = PATIENCE_MAX
    world.do(PATIENCE_MAX, units=1)
    assert world.plan.patience == PATIENCE_MAX


def test_short_calls_of_few_lanes_are_hardly_timed():
    world = World(255, fork_ns=0.0, serial=100.0, several=1.0)
    for _ in range(20):
        assert world.do(1, units=255) == [(0, 1)]
        assert [world.untimed() for _ in range(513)] == [1] * 512 + [0]
    world.costs["serial"] = 200.0  # 51 us
    assert world.do(5, units=255)[-1][0] == 0 and not world.untimed()
    assert [way for way, _ in world.do(60, units=255)] == [0, 1]


def test_long_calls_of_few_lanes_are_tried_at_once():
    world = World(32, fork_ns=1e9, serial=1000.0, several=600.0)
    assert world.do(4 + 5 + 32, units=32) == [(0, 4), (1, 5 + 32)]
    assert not world.untimed()
    assert World(256, serial=10.0, several=4.0).untimed() == 0


def test_less_work_goes_on_one_thread_and_is_learned_from():
    world = World(serial=10.0, several=4.0)
    world.do(9)
    assert world.way(1000) == 1 and world.way(200) == 0
    calls = world.plan.calls
    world.costs["serial"] = 9.0
    assert world.do(3, units=200) == [(0, 3)]
    assert world.plan.serial == 9.0 and world.plan.calls == calls


def test_long_pieces_are_tried_once():
    world = World(serial=4e6, several=2e6)
    assert world.do(4, units=1) == [(0, 1), (1, 3)]
    world = World(serial=3.9e6, several=1e6)
    assert world.do(3, units=1) == [(0, 2), (1, 1)]
    assert World(serial=0.4e6, several=0.1e6).do(9, units=1) == [(0, 4), (1, 5)]


def test_after_two_seconds_the_other_way_is_tried():
    world = World(serial=0.4e9, several=0.2e9)
    world.do(2, units=1)
    assert world.plan.trying == 0
    assert world.do(11, units=1) == [(1, 10), (0, 1)]


def test_a_costly_look_stops_all_looks_for_a_while():
    """One try loses 10 ms: no second one, none by this or another plan for a hundred times as long."""
    assert World(serial=10.0, several=60.0).do(9) == [(0, 4), (1, 5)]  # a small loss stops nothing
    world = World(serial=10.0, several=10_010.0)
    assert world.do(6) == [(0, 4), (1, 1), (0, 1)]
    after = 40_000 + 10_010_000 + 100 * 10_000_000
    assert ctypes.c_int64.in_dll(world.library, "be_plan_looks_after").value == after
    other = World(serial=10.0, several=4.0)
    other.at(after - 40_001.0)
    assert other.do(5) == [(0, 5)]
    third = World(serial=10.0, several=4.0)
    third.at(after - 40_000.0)
    assert third.do(5) == [(0, 4), (1, 1)]


def test_losses_put_off_the_next_look():
    """5 tries lose 50 us beyond the serial cost: the next one comes when a hundred times that have been spent."""
    world = World(serial=10.0, several=20.0)
    world.do(9)
    assert world.plan.wait_ns == 100 * 5 * 10_000
    assert world.do(501) == [(0, 500), (1, 1)]


def test_fixed_plans_learn_nothing():
    for parallel in (0, 1):
        world = World(serial=10.0, several=4.0)
        world.plan.fixed, world.plan.trying, world.plan.parallel = 1, 0, parallel
        assert world.do(100) == [(parallel, 100)]
        assert world.plan.serial == world.plan.several == 0


def test_long_calls_of_one_thread_look_at_signals():
    """Although kernels do a call for so few lanes in one piece if it is short: handlers run on the way."""
    code = """
        import signal, batchenv
        env, seen = batchenv.make("BipedalWalker-v3", 4096, num_threads=1), []
        env.reset(seed=0)  # it shows how long a lane takes
        signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        env.reset()
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(len(seen))
    """
    assert int(run_python(code)) > 3
