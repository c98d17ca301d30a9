"""The protocols of csrc/core/queue as programs for explore.py. Each function builds one small case and explores it.

`bug` seeds a mistake that must be found; without one everything must be in order. Labels name what the C does.
"""

import sys
import time

from explore import BLOCKED, Violation, explore, gate, local, notify, program, sleep, wake

# ---- ring.c -------------------------------------------------------------------------------------------------------

RING_BUGS = {
    "notify first": "looks for sleepers before the entry is published",
    "no second look": "goes to sleep without looking again after it has said so",
    "publish first": "hands the slot on before the entry is written",
    "no sequence": "a producer does not look whether the slot has been read",
    "no passing on": "who gets through does not look whether there is more for others",
}


def _transfer(me, side, capacity, gates, timed, bug):
    """be_ring_push (side "push") or be_ring_pop, again and again: t["left"] times."""
    pushing = side == "push"
    counter, mine, theirs = ("tail", "emptied", "filled") if pushing else ("head", "filled", "emptied")
    offset = 0 if pushing else 1  # what a slot's sequence number is ahead of the position when it is this side's turn

    @local
    def start(s, t, pick):
        t["parked"] = t["late"] = False
        return "try" if t["left"] else "end"

    def try_(s, t, pick):
        t["position"] = s[counter]
        return "sequence"

    def sequence(s, t, pick):
        ahead = s["sequence"][t["position"] % capacity] - (t["position"] + offset)
        if ahead < 0 and not (pushing and bug == "no sequence"):
            return "failed"
        return "try" if ahead > 0 else "claim"

    def claim(s, t, pick):
        if s[counter] != t["position"]:
            return "try"
        s[counter] += 1
        if not pushing:
            return "copy"
        return "hand on" if bug == "publish first" else "copy"

    def copy(s, t, pick):
        slot, values = t["position"] % capacity, list(s["values"])
        if pushing:
            assert values[slot] is None, "an entry was overwritten before it was read"
            values[slot] = (me, t["left"])
        else:
            assert values[slot] is not None, "an entry was read that is not there"
            assert values[slot] not in s["taken"], "an entry was read twice"
            s["taken"] = tuple(sorted((*s["taken"], values[slot])))
            values[slot] = None
        s["values"] = tuple(values)
        if pushing and bug == "publish first":
            return "passed on"
        # The slot is this thread's alone between claim and handing on, so that copying it needs no step of its own.
        return "hand on" if pushing and bug == "notify first" else hand_on(s, t, pick)

    def hand_on(s, t, pick):
        numbers = list(s["sequence"])
        numbers[t["position"] % capacity] = t["position"] + (1 if pushing else capacity)
        s["sequence"] = tuple(numbers)
        return "copy" if pushing and bug == "publish first" else "passed on"

    @local
    def passed_on(s, t, pick):
        t["left"] -= 1
        t["position"] = -1
        if not gates:
            return "next"
        if t["parked"]:
            return "awake"
        return "next" if bug == "notify first" and pushing else "notify"

    def awake(s, t, pick):
        s[f"{mine}.sleepers"] -= 1
        t["parked"] = False
        return "next" if bug == "notify first" and pushing else "notify"

    @local
    def failed(s, t, pick):
        t["position"] = -1
        if not gates:
            return "try"
        if t["parked"]:
            return "sleep"
        if t["late"]:
            return "gave up"
        return "announce"

    def announce(s, t, pick):
        t["parked"] = True
        s[f"{mine}.sleepers"] += 1
        return "epoch"

    def epoch(s, t, pick):
        t["epoch"] = s[f"{mine}.epoch"]
        return "sleep" if bug == "no second look" else "try"

    def leave(s, t, pick):
        s[f"{mine}.sleepers"] -= 1
        t["parked"] = False
        t["epoch"] = -1
        return "try"

    @local
    def gave_up(s, t, pick):  # the caller of a timed wait comes back with nothing, and does not come again
        t["late"] = False
        t["left"] = 0
        return "start"

    def more_for_others(s, t, pick):
        return "more" if s[f"{mine}.sleepers"] and bug != "no passing on" else "next"

    def more(s, t, pick):
        t["position"] = s[counter]
        return "is more"

    def is_more(s, t, pick):
        ahead = s["sequence"][t["position"] % capacity] - (t["position"] + offset)
        t["position"] = -1
        return "more" if ahead > 0 else "next" if ahead < 0 else "pass on"

    @local
    def next_(s, t, pick):
        t["epoch"] = -1
        return "start"

    first, early = {}, []
    if bug == "notify first" and pushing:
        first = notify(theirs, "early", "hand on")
        original_claim = claim

        def claim(s, t, pick):
            following = original_claim(s, t, pick)
            return "copy early" if following == "copy" else following

        def copy_early(s, t, pick):
            copy(s, t, pick)
            return "early"

        early.append(copy_early)
    actions = start, try_, sequence, claim, copy, hand_on, passed_on, awake, failed, announce, epoch, leave, gave_up
    return {
        **program(*actions, more_for_others, more, is_more, next_, *early),
        **sleep(mine, "sleep", me, "leave", timed),
        **notify(theirs, "notify", "more for others"),
        **wake(mine, "pass on", "next"),
        **first,
    }


def ring(pushes=(2, 1), pops=(2, 1), capacity=2, gates=True, timed=(), bug=None):
    """Producers that push so many entries each, consumers that pop so many.

    They wait at the ring's gates (those in `timed` may give up there), or try again until they get through.
    """
    shared = {"tail": 0, "head": 0, "sequence": tuple(range(capacity)), "values": (None,) * capacity, "taken": ()}
    shared |= {**gate("filled"), **gate("emptied")}
    threads = []
    for i, left in enumerate((*pushes, *pops)):
        side = "push" if i < len(pushes) else "pop"
        variables = {"left": left, "position": -1, "epoch": -1, "parked": False, "late": False}
        threads.append((_transfer(i, side, capacity, gates, i in timed, bug), variables))

    def final(s, variables):
        still_there = sum(value is not None for value in s["values"])
        assert s["tail"] - s["head"] == still_there, "an entry was lost"
        assert len(s["taken"]) == s["head"], "an entry was lost"
        assert s["filled.sleepers"] == s["emptied.sleepers"] == 0, "sleepers are miscounted"
        if not timed:
            assert s["head"] == sum(pops)

    return explore(shared, threads, final=final)


# ---- pool.c: workers that run out of work ---------------------------------------------------------------------------

IDLE_BUGS = {
    "no passing on": "a worker back with work does not look whether there is more",
    "notify first": "the submitter looks for spinners and sleepers before it publishes",
    "no second look": "a worker goes to sleep without looking again",
}


def _worker(me, max_spinners, bug):
    def has_work(s):
        return s["waiting"] > 0 or s["finishing"]

    def start(s, t, pick):
        t["state"] = s["finishing"]
        return "pop"

    def pop(s, t, pick):
        if s["waiting"]:
            s["waiting"] -= 1
            fresh, t["fresh"] = t["fresh"], False
            return "may pass on" if fresh and bug != "no passing on" else "work"
        return "end" if t["state"] else "may spin"

    def may_pass_on(s, t, pick):
        return "more" if s["idle.sleepers"] else "work"

    def more(s, t, pick):
        return "pass on" if has_work(s) else "work"

    def work(s, t, pick):  # takes as long as it likes: see `invariant` in idle()
        s["done"] += 1
        return "start"

    def may_spin(s, t, pick):
        s["spinners"] += 1
        return "spin" if s["spinners"] <= max_spinners else "stop spinning"

    def spin(s, t, pick):
        t["fresh"] = has_work(s)
        return "stop spinning" if t["fresh"] or pick((False, True)) else "spin"

    def stop_spinning(s, t, pick):
        s["spinners"] -= 1
        return "start" if t["fresh"] else "park"

    def park(s, t, pick):
        s["idle.sleepers"] += 1
        return "epoch"

    def epoch(s, t, pick):
        t["epoch"] = s["idle.epoch"]
        return "sleep" if bug == "no second look" else "look"

    def look(s, t, pick):
        if not has_work(s):
            return "sleep"
        return "leave"

    def leave(s, t, pick):
        s["idle.sleepers"] -= 1
        t["epoch"] = -1
        return "again"

    def again(s, t, pick):
        t["fresh"] = has_work(s)
        return "start" if t["fresh"] else "park"

    return {
        **program(start, pop, may_pass_on, more, work, may_spin, spin, stop_spinning, park, epoch, look, leave, again),
        **wake("idle", "pass on", "work"),
        **sleep("idle", "sleep", me, "leave"),
    }


def idle(workers=2, submits=(1, 1, 1), max_spinners=1, bug=None):
    """be_pool_submit with so many items at a time, then be_pool_destroy(pool, 1). The ring is a counter here."""
    me = workers

    def start(s, t, pick):
        if not t["submits"]:
            return "finish"
        t["count"], t["submits"] = t["submits"][0], t["submits"][1:]
        return "call" if bug == "notify first" else "publish"

    def publish(s, t, pick):
        s["waiting"] += t["count"]
        return "start" if bug == "notify first" else "call"

    after_call = "publish" if bug == "notify first" else "start"

    def call(s, t, pick):
        return "notify" if t["count"] > s["spinners"] else after_call

    def finish(s, t, pick):
        s["finishing"] = True
        return "wake all"

    caller = {
        **program(start, publish, call, finish),
        **notify("idle", "notify", after_call),
        **wake("idle", "wake all", "end", count=99),
    }
    shared = {"waiting": 0, "done": 0, "spinners": 0, "finishing": False, **gate("idle")}
    worker = {"fresh": False, "epoch": -1, "state": False}
    threads = [(_worker(i, max_spinners, bug), dict(worker)) for i in range(workers)]
    threads.append((caller, {"submits": tuple(submits), "count": 0}))

    def invariant(s, labels, movable):
        """An item never waits while a worker sleeps, once all who are awake are busy (each may be so for long)."""
        if labels[me] in ("start", "finish") and all(labels[i] == "work" for i in movable if i != me):
            assert not (s["waiting"] and s["idle.asleep"]), "an item waits for a busy worker while another one sleeps"

    def final(s, variables):
        assert s["done"] == sum(submits) and not s["waiting"]
        assert s["idle.sleepers"] == 0 and s["spinners"] == 0

    return explore(shared, threads, invariant, final)


# ---- stream.c, and pool.c's event file descriptor --------------------------------------------------------------------

STREAM_BUGS = {
    "notify first": "a worker looks whether it is waited for before it commits",
    "no second look": "the receiver goes to sleep without looking again",
    "no reserve": "work is submitted whether or not its results have room",
    "commit first": "rows are committed before they are written",
    "turn first": "a worker looks whose turn it is before it commits",
    "finishing relaxed": "the receiver says by a relaxed store that it waits for all: seen after its last look",
}
EVENT_BUGS = {"empty last": "the descriptor is emptied after the look at the stream, not before"}


def stream(items=(1, 2, 1), batch_rows=2, batches=2, rounds=3, workers=2, event=False, bug=None):
    """`items` of so many rows go round: after each batch, those that are finished are sent again.

    The receiver waits at the gate, or (`event`) only by its file descriptor. In the end it waits for all that is under
    way. An item's rows are written one by one; the queue of items is a tuple here.
    """
    me = workers
    total = sum(items)

    def complete_at(batch):
        return (batch // batches + 1) * batch_rows

    def is_ready(s):
        return s["committed"][s["received"] % batches] == complete_at(s["received"])

    # -- workers

    def w_start(s, t, pick):
        if s["queue"]:
            t["count"], s["queue"] = s["queue"][0], s["queue"][1:]
            return "claim"
        return "end" if s["closed"] else BLOCKED

    def w_claim(s, t, pick):
        t["slot"] = s["claimed"]
        s["claimed"] += t["count"]
        return "locate"

    @local
    def w_locate(s, t, pick):  # the part of the rows that lies in the first row's batch
        t["part"] = min(t["count"], batch_rows - t["slot"] % batch_rows)
        if bug == "turn first":
            return "turn early"
        if bug == "notify first":
            t["full"] = s["committed"][t["slot"] // batch_rows % batches] + t["part"]
            return "turn"
        return "commit" if bug == "commit first" else "write"

    def w_turn_early(s, t, pick):
        t["turn"] = t["slot"] // batch_rows == s["received"]
        return "write"

    def w_write(s, t, pick):
        rows = list(s["rows"])
        for slot in range(t["slot"], t["slot"] + t["part"]):
            at = slot % (batch_rows * batches)
            assert rows[at] is None, "a row was overwritten before it was released"
            rows[at] = slot
        s["rows"] = tuple(rows)
        return after_commit() if bug == "commit first" else "commit"

    def after_commit():
        return "turn" if bug not in ("turn first", "notify first") else "turn known"

    def w_commit(s, t, pick):
        batch = t["slot"] // batch_rows
        committed = list(s["committed"])
        committed[batch % batches] += t["part"]
        s["committed"] = tuple(committed)
        t["full"] = committed[batch % batches]
        if bug == "commit first":
            return "write"
        return "next" if bug == "notify first" else after_commit()

    def w_turn(s, t, pick):
        ready = t["full"] == complete_at(t["slot"] // batch_rows) and t["slot"] // batch_rows == s["received"]
        t["ready"] = ready
        return "notify" if ready else "finishing"

    @local
    def w_turn_known(s, t, pick):
        t["ready"] = t["full"] == complete_at(t["slot"] // batch_rows) and t["turn"]
        return "notify" if t["ready"] else "finishing"

    def w_finishing(s, t, pick):
        return "notify" if s["finishing"] else "told"

    @local
    def w_told(s, t, pick):
        return "signal" if t["ready"] and event else "write" if bug == "notify first" else "next"

    def w_signal(s, t, pick):
        s["event"] = True
        return "write" if bug == "notify first" else "next"

    @local
    def w_next(s, t, pick):
        t["slot"] += t["part"]
        t["count"] -= t["part"]
        t["part"] = 0
        t["full"], t["ready"], t["turn"] = 0, False, False
        if t["count"]:
            return "locate"
        t["slot"] = 0
        return "start"

    actions = w_start, w_claim, w_locate, w_turn_early, w_write, w_commit, w_turn, w_turn_known, w_finishing, w_told
    worker = {**program(*actions, w_signal, w_next), **notify("ready", "notify", "told")}

    # -- the caller

    def c_start(s, t, pick):  # item by item: one that has no room waits for a release
        if t["send"]:
            count = t["send"][0]
            room = (s["released"] + batches) * batch_rows - s["reserved"]
            if count <= room or bug == "no reserve":
                s["reserved"] += count
                s["queue"] = (*s["queue"], count)
                t["send"] = t["send"][1:]
                return "start"
        return "recv" if s["received"] < rounds else "finish"

    def c_recv(s, t, pick):
        if is_ready(s):
            return "take"
        assert s["reserved"] >= (s["received"] + 1) * batch_rows, "starved"
        return "settle" if event else "park"

    def c_park(s, t, pick):
        s["ready.sleepers"] += 1
        return "epoch"

    def c_epoch(s, t, pick):
        t["epoch"] = s["ready.epoch"]
        return "sleep" if bug == "no second look" else "look"

    def done(s, t):
        return sum(s["committed"]) == s["reserved"] if t["finishing"] else is_ready(s)

    def c_look(s, t, pick):
        return "leave" if done(s, t) else "tell late" if t["finishing"] and not s["finishing"] else "sleep"

    def c_tell_late(s, t, pick):
        s["finishing"] = True
        return "sleep"

    def c_leave(s, t, pick):
        s["ready.sleepers"] -= 1
        t["epoch"] = -1
        return "awake"

    def c_awake(s, t, pick):
        if not done(s, t):
            return "park"
        return "close" if t["finishing"] else "take"

    def c_take(s, t, pick):
        s["received"] += 1
        t["taken"] = True
        return "settle" if event else "read"

    # settle_event, then (nothing taken) waiting for the descriptor

    def c_settle(s, t, pick):
        if bug == "empty last":
            t["again"] = is_ready(s)
        else:
            s["event"] = False
        return "settle look"

    def c_settle_look(s, t, pick):
        if bug == "empty last":
            s["event"] = t["again"]
            t["again"] = False
        elif is_ready(s):
            s["event"] = True
        return "read" if t["taken"] else "poll"

    def c_poll(s, t, pick):
        return "recv" if s["event"] else BLOCKED

    def c_read(s, t, pick):
        t["taken"] = False
        first = (s["received"] - 1) * batch_rows
        rows = list(s["rows"])
        for slot in range(first, first + batch_rows):
            at = slot % (batch_rows * batches)
            assert rows[at] == slot, "a batch was handed out that is not complete, or the wrong one"
            rows[at] = None
        s["rows"] = tuple(rows)
        return "release"

    def c_release(s, t, pick):
        s["released"] += 1
        # As many rows as came back go out again, cut into items of two and one.
        out, back = [], batch_rows
        while back:
            out.append(min(2, back))
            back -= out[-1]
        if s["received"] < rounds:
            t["send"] = (*t["send"], *out)
        return "start"

    def c_finish(s, t, pick):
        t["finishing"] = True
        s["finishing"] = bug != "finishing relaxed"
        return "finished"

    def c_finished(s, t, pick):
        return "close" if done(s, t) else "park"

    def c_close(s, t, pick):
        s["finishing"] = False
        s["closed"] = True
        return "end"

    actions = c_start, c_recv, c_park, c_epoch, c_look, c_tell_late, c_leave, c_awake, c_take, c_settle, c_settle_look
    actions += c_poll, c_read, c_release, c_finish, c_finished, c_close
    caller = {**program(*actions), **sleep("ready", "sleep", me, "leave")}
    shared = {
        "queue": (),
        **dict.fromkeys(("claimed", "reserved", "received", "released"), 0),
        "committed": (0,) * batches,
        "rows": (None,) * (batch_rows * batches),
        **dict.fromkeys(("finishing", "closed", "event"), False),
        **gate("ready"),
    }
    own = {"slot": 0, "count": 0, "part": 0, "full": 0, "ready": False, "turn": False}
    threads = [(worker, dict(own)) for _ in range(workers)]
    threads.append((caller, {"send": tuple(items), "epoch": -1, "taken": False, "again": False, "finishing": False}))

    def final(s, variables):
        assert s["received"] == rounds and s["claimed"] == s["reserved"] == sum(s["committed"])
        left = sum(row is not None for row in s["rows"])
        assert left == s["claimed"] - rounds * batch_rows and left <= total

    return explore(shared, threads, final=final)


# ---- pool.c: the parallel loop --------------------------------------------------------------------------------------

LOOP_BUGS = {
    "counts up": "the word counts ranges claimed, so that only the other fields say whether any are left",
    "no epoch": "the word does not say which job it is of",
    "word first": "the word is published before the other fields",
    "report first": "a range is reported before it is run",
    "notify first": "a worker looks whether the caller sleeps before it reports",
    "word relaxed": "a worker loads the word relaxed: it may have read the other fields before",
}


def loop(jobs=(1, 2), workers=2, seats=1, bug=None):
    """be_pool_for for jobs of so many ranges, one after the other, while workers come and go as they like."""
    me = workers

    def open_word(job, ranges):
        return (0 if bug == "no epoch" else job + 1, seats, 0 if bug == "counts up" else ranges)

    def left(word, ranges):
        return ranges - word[2] if bug == "counts up" else word[2]

    def run(index, nothing, reported):
        """run_for, from "look" on; goes on at `nothing` if nothing was run, at `reported` after a report."""
        caller = index == me

        def look(s, t, pick):
            if bug == "word relaxed" and not caller:
                t["body"] = s["body"]
                return "read early"
            t["word"] = s["word"]
            return "count" if bug == "counts up" else "check"

        def read_early(s, t, pick):
            t["ranges"] = s["ranges"]
            return "look late"

        def look_late(s, t, pick):
            t["word"] = s["word"]
            return "check"

        def count(s, t, pick):
            t["ranges"] = s["ranges"]
            return "check"

        @local
        def check(s, t, pick):
            if left(t["word"], t["ranges"]) <= 0 or not (t["seated"] or t["word"][1]):
                return "report" if t["ran"] else nothing
            return "claim" if bug == "word relaxed" and not caller else "read body"

        def read_body(s, t, pick):
            t["body"] = s["body"]
            return "read ranges"

        def read_ranges(s, t, pick):
            if bug != "counts up":
                t["ranges"] = s["ranges"]
            return "claim"

        def claim(s, t, pick):
            epoch, seats_left, count = t["word"]
            if s["word"] != t["word"]:
                t["word"] = s["word"]
                return "count" if bug == "counts up" else "check"
            s["word"] = (epoch, seats_left - (not t["seated"]), count + (1 if bug == "counts up" else -1))
            t["range"] = count if bug == "counts up" else t["ranges"] - count
            t["seated"] = True
            if bug == "report first":
                t["ran"] += 1
                s["done"] += 1
            return "run range"

        def run_range(s, t, pick):
            assert t["body"] == s["running"], "a range of a job that is over was run"
            assert 0 <= t["range"] < jobs[t["body"]], "a range that is not there was run"
            assert (t["body"], t["range"]) not in s["ran"], "a range was run twice"
            s["ran"] = tuple(sorted((*s["ran"], (t["body"], t["range"]))))
            if bug != "report first":
                t["ran"] += 1
            return "look"

        def report(s, t, pick):
            if bug == "notify first":
                t["asleep"] = s["over.sleepers"]
                return "late report"
            if bug != "report first":
                s["done"] += t["ran"]
            done = s["done"] == t["ranges"]
            return "notify" if done else "leave"

        def late_report(s, t, pick):
            s["done"] += t["ran"]
            done = s["done"] == t["ranges"]
            return "notify.epoch" if done and t["asleep"] else "leave"

        @local
        def leave(s, t, pick):
            for name in ("ran", "range", "ranges", "body", "asleep"):
                t[name] = 0
            t["word"], t["seated"] = (0, 0, 0), caller
            return reported

        actions = look, read_early, look_late, count, check, read_body, read_ranges, claim, run_range, report
        return {**program(*actions, late_report, leave), **notify("over", "notify", "leave")}

    def w_start(s, t, pick):
        return "end" if s["stop"] else "look"

    @local
    def w_nothing(s, t, pick):
        for name in ("ranges", "body"):
            t[name] = 0
        t["word"] = (0, 0, 0)
        return "start"

    def c_start(s, t, pick):
        if t["job"] == len(jobs):
            s["stop"] = True
            return "end"
        s["running"] = t["job"]
        return "publish early" if bug == "word first" else "write body"

    def c_publish_early(s, t, pick):
        s["word"] = open_word(t["job"], jobs[t["job"]])
        return "write body"

    def c_write_body(s, t, pick):
        s["body"] = t["job"]
        return "write ranges"

    def c_write_ranges(s, t, pick):
        s["ranges"] = jobs[t["job"]]
        return "write done"

    def c_write_done(s, t, pick):
        s["done"] = 0
        return "look" if bug == "word first" else "publish"

    def c_publish(s, t, pick):
        s["word"] = open_word(t["job"], jobs[t["job"]])
        return "look"

    def c_wait(s, t, pick):
        return "over" if s["done"] == jobs[t["job"]] else "park"

    def c_park(s, t, pick):
        s["over.sleepers"] += 1
        return "epoch"

    def c_epoch(s, t, pick):
        t["epoch"] = s["over.epoch"]
        return "second look"

    def c_second_look(s, t, pick):
        return "stand up" if s["done"] == jobs[t["job"]] else "sleep"

    def c_stand_up(s, t, pick):
        s["over.sleepers"] -= 1
        t["epoch"] = -1
        return "wait"

    def c_over(s, t, pick):
        job = t["job"]
        assert all((job, i) in s["ran"] for i in range(jobs[job])), "the loop returned before all ranges were run"
        s["running"] = -1
        t["job"] += 1
        return "start"

    worker = program(w_start, w_nothing)
    actions = c_start, c_publish_early, c_write_body, c_write_ranges, c_write_done, c_publish, c_wait, c_park, c_epoch
    caller = {
        **program(*actions, c_second_look, c_stand_up, c_over),
        **run(me, "wait", "wait"),
        **sleep("over", "sleep", me, "stand up"),
    }
    own = {"word": (0, 0, 0), "ranges": 0, "body": 0, "range": 0, "ran": 0, "seated": False, "asleep": 0}
    shared = {"word": (0, 0, 0), "running": -1, "ran": (), "stop": False, **gate("over")}
    shared |= dict.fromkeys(("body", "ranges", "done"), 0)
    threads = [({**worker, **run(i, "nothing", "start")}, dict(own)) for i in range(workers)]
    threads.append((caller, {**own, "seated": True, "job": 0, "epoch": -1}))

    def final(s, variables):
        assert len(s["ran"]) == sum(jobs)

    return explore(shared, threads, final=final)


# What is explored, with the mistakes that each case must find. The long ones are left to main().
CASES = [
    ("ring, claims only", ring, {"gates": False}, ("publish first", "no sequence")),
    ("ring, claims only, three producers", ring, {"pushes": (1, 1, 1), "pops": (2, 1), "gates": False}, ()),
    ("ring, one producer", ring, {"pushes": (2,), "pops": (1, 1)}, ("notify first", "no second look")),
    ("ring, one slow consumer", ring, {"pushes": (3,), "pops": (3,)}, ()),
    ("ring, one gives up", ring, {"pushes": (1,), "pops": (1, 1), "timed": (1, 2)}, ()),
    ("idle workers", idle, {"submits": (1, 1)}, ("notify first", "no second look")),
    (
        "stream",
        stream,
        {"items": (1, 2), "rounds": 2},
        ("notify first", "no second look", "commit first", "finishing relaxed"),
    ),
    ("stream, more work than room", stream, {"items": (2, 2, 1), "rounds": 1}, ("no reserve",)),
    ("event descriptor", stream, {"items": (1, 2, 1), "rounds": 2, "event": True}, ("empty last",)),
    ("parallel loop", loop, {}, ("counts up", "no epoch", "word first", "report first", "word relaxed")),
]
LONG_CASES = [
    ("ring, two by two", ring, {"pushes": (1, 1), "pops": (1, 1)}, ("no passing on",)),
    ("ring, two producers", ring, {"pushes": (2, 1), "pops": (3,)}, ()),
    ("ring, two consumers", ring, {"pushes": (3,), "pops": (2, 1)}, ()),
    ("idle workers, three items", idle, {}, ("no passing on",)),
    ("idle workers, a pair", idle, {"submits": (2, 1)}, ()),
    ("stream, four rows under way", stream, {}, ("turn first",)),
    ("stream, three buffers", stream, {"items": (1, 1, 1, 2), "batches": 3}, ()),
    ("event descriptor, longer", stream, {"event": True}, ()),
    ("parallel loop, who is asleep", loop, {}, ("notify first",)),
    ("parallel loop, three jobs", loop, {"jobs": (2, 2, 1)}, ()),
    ("parallel loop, two seats", loop, {"seats": 2}, ()),
]


def main():
    wrong = 0
    for name, case, options, bugs in CASES + LONG_CASES:
        for bug in (None, *bugs):
            start = time.perf_counter()
            try:
                result = case(**options, bug=bug)
                good, said = bug is None, repr(result)
            except Violation as violation:
                good, said = bug is not None, f"{violation.what} ({len(violation.trace)} steps)"
                if not good:
                    said = str(violation)
            wrong += not good
            what = f"{name}, seeded: {bug}" if bug else name
            print(f"{'ok' if good else 'WRONG'}: {what}: {said} [{time.perf_counter() - start:.1f} s]", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
