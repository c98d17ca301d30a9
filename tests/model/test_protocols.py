"""The queue's protocols, every interleaving of small cases, and the mistakes that the explorer must find."""

import protocols
import pytest
from explore import BLOCKED, Violation, explore, gate, notify, sleep


@pytest.mark.parametrize("name, case, options, bugs", protocols.CASES, ids=[case[0] for case in protocols.CASES])
def test_protocol(name, case, options, bugs):
    assert case(**options).finals > 0
    for bug in bugs:
        with pytest.raises(Violation) as found:
            case(**options, bug=bug)
        assert found.value.trace, "a way there is shown"


def test_every_mistake_is_sought():
    sought = {(case, bug) for _, case, _, bugs in protocols.CASES + protocols.LONG_CASES for bug in bugs}
    listed = [
        (protocols.ring, protocols.RING_BUGS),
        (protocols.idle, protocols.IDLE_BUGS),
        (protocols.stream, protocols.STREAM_BUGS),
        (protocols.stream, protocols.EVENT_BUGS),
        (protocols.loop, protocols.LOOP_BUGS),
    ]
    assert sought == {(case, bug) for case, bugs in listed for bug in bugs}


# ---- the explorer itself


def counter(steps):
    """Adds one to the shared number, in one step or in two."""

    def load(s, t, pick):
        t["seen"] = s["number"]
        return "store"

    def store(s, t, pick):
        s["number"] = t["seen"] + 1
        return "end"

    def add(s, t, pick):
        s["number"] += 1
        return "end"

    return {"start": add} if steps == 1 else {"start": load, "store": store}


def test_explorer_sees_a_lost_update():
    def final(s, variables):
        assert s["number"] == 2, "lost"

    def run(steps):
        return explore({"number": 0}, [(counter(steps), {"seen": 0})] * 2, final=final)

    assert run(1).finals == 1
    with pytest.raises(Violation, match="lost"):
        run(2)


def test_explorer_follows_every_choice():
    def choose(s, t, pick):
        s["number"] = pick(range(3))
        return "end"

    result = explore({"number": -1}, [({"start": choose}, {})])
    assert (result.states, result.finals) == (4, 3)


def test_explorer_sees_who_is_stuck_and_who_goes_round_for_ever():
    with pytest.raises(Violation, match="stuck at"):
        explore({}, [({"start": lambda s, t, pick: BLOCKED}, {})])
    with pytest.raises(Violation, match="no way to the end"):
        explore({}, [({"start": lambda s, t, pick: "again", "again": lambda s, t, pick: "start"}, {})])


def test_a_sleeper_needs_a_wake_up():
    def announce(s, t, pick):
        s["door.sleepers"] += 1
        t["epoch"] = s["door.epoch"]
        return "sleep"

    sleeper = ({"start": announce, **sleep("door", "sleep", 0, "end")}, {"epoch": -1})
    waker = (notify("door", "start", "end"), {})
    with pytest.raises(Violation, match="stuck at"):
        explore(gate("door"), [sleeper])
    with pytest.raises(Violation, match="stuck at"):  # the waker may come first: that is why one looks twice
        explore(gate("door"), [sleeper, waker])
