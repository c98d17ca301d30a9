"""Goes through every interleaving of a few threads that share memory.

A thread is a program: a dict from labels to actions. An action is one indivisible step, `action(s, t, pick)`: it may
change the shared variables `s` and the thread's own `t`, and returns the label that comes next, or BLOCKED if the
thread cannot move now (then nothing may have been changed). `pick(options)`, at most once in an action, stands for a
choice that is not the thread's: every option is followed. An action marked @local touches nothing but `t` and runs
together with the action before it: no other thread could tell. A thread at the label "end" is done.

Checked are: assertions in actions (Violation), that no reachable state is stuck before all threads are done (a lost
wake-up is one), that the end can be reached from every reachable state (no endless loop without a way out), and what
`invariant` says of every state.
"""

from collections import deque

BLOCKED = object()


def local(action):
    action.local = True
    return action


def program(*actions):
    """A program of actions whose labels are their names: "hand on" is that of hand_on, c_hand_on or w_hand_on."""
    names = [action.__name__.removeprefix("c_").removeprefix("w_") for action in actions]
    return {name.strip("_").replace("_", " "): action for name, action in zip(names, actions, strict=True)}


class Violation(Exception):
    """What went wrong, and the shortest way there: a list of "thread: label" steps."""

    def __init__(self, what, trace=()):
        super().__init__("\n  ".join([what, *trace]))
        self.what, self.trace = what, list(trace)


class Result:
    def __init__(self, states, transitions, finals):
        self.states, self.transitions, self.finals = states, transitions, finals

    def __repr__(self):
        return f"{self.states} states, {self.transitions} transitions, {self.finals} final states"


def explore(shared, threads, invariant=None, final=None, limit=3_000_000):
    """Explores all that `threads`, (program, variables) pairs starting at "start", can do with `shared`.

    `invariant(s, labels, movable)` sees each state: the shared variables, each thread's label and which threads can
    move. `final(s, variables)` sees each state in which all threads are done. Both assert.

    Returns a Result; raises Violation, or RuntimeError beyond `limit` states.
    """
    programs = [{**program, "end": None, BLOCKED: None} for program, _ in threads]
    keys, own_keys = list(shared), [list(variables) for _, variables in threads]
    start = (tuple(shared.values()), tuple(("start", *variables.values()) for _, variables in threads))
    number, states = {start: 0}, [start]
    came_from, predecessors, finals = [None], [[]], []
    queue, transitions = deque([0]), 0

    def named(names, values):
        return dict(zip(names, values, strict=True))

    def trace(state):
        steps = []
        while came_from[state]:
            state, thread, label = came_from[state]
            steps.append(f"{thread}: {label}")
        return steps[::-1]

    while queue:
        here = queue.popleft()
        common, own = states[here]
        movable = []
        for i, program in enumerate(programs):
            label = own[i][0]
            if label == "end":
                continue
            option, num_options = 0, 1
            while option < num_options:
                s, t = named(keys, common), named(own_keys[i], own[i][1:])
                seen = [1]

                def pick(options, option=option, seen=seen):
                    options = list(options)
                    seen[0] = len(options)
                    return options[option]

                try:
                    following = program[label](s, t, pick)
                    while getattr(program.get(following), "local", False):
                        following = program[following](s, t, None)
                except AssertionError as error:
                    raise Violation(str(error) or f"assertion at {label}", [*trace(here), f"{i}: {label}"]) from None
                num_options = seen[0]
                option += 1
                if following is BLOCKED:
                    continue
                transitions += 1
                if i not in movable:
                    movable.append(i)
                state = (tuple(s.values()), (*own[:i], (following, *t.values()), *own[i + 1 :]))
                if state == states[here]:
                    continue
                there = number.get(state)
                if there is None:
                    there = number[state] = len(states)
                    if there >= limit:
                        raise RuntimeError(f"more than {limit} states")
                    states.append(state)
                    came_from.append((here, i, label))
                    predecessors.append([])
                    queue.append(there)
                predecessors[there].append(here)
        labels = [variables[0] for variables in own]
        try:
            if invariant:
                invariant(named(keys, common), labels, movable)
            if all(label == "end" for label in labels):
                finals.append(here)
                if final:
                    final(named(keys, common), [named(own_keys[i], variables[1:]) for i, variables in enumerate(own)])
            elif not movable:
                raise AssertionError(f"stuck at {labels}")
        except AssertionError as error:
            raise Violation(str(error), trace(here)) from None

    can_end, queue = set(finals), deque(finals)
    while queue:
        for state in predecessors[queue.popleft()]:
            if state not in can_end:
                can_end.add(state)
                queue.append(state)
    for state in range(len(states)):
        if state not in can_end:
            raise Violation("no way to the end from here", trace(state))
    return Result(len(states), transitions, len(finals))


# ---- gates: csrc/core/queue/gate.h --------------------------------------------------------------------------------


def gate(name):
    """The shared variables of a gate. `asleep`: the threads that the kernel has put to sleep."""
    return {f"{name}.epoch": 0, f"{name}.sleepers": 0, f"{name}.asleep": ()}


def notify(name, label, following, count=1):
    """be_gate_notify, from `label` on: then goes on at `following`."""

    def look(s, t, pick):
        return f"{label}.epoch" if s[f"{name}.sleepers"] else following

    return {label: look, **wake(name, f"{label}.epoch", following, count)}


def wake(name, label, following, count=1):
    """be_gate_wake: the epoch first, then as many of the sleepers as asked for, whichever the kernel likes."""

    def epoch(s, t, pick):
        s[f"{name}.epoch"] += 1
        return f"{label}.wake"

    def wake_up(s, t, pick):
        asleep = s[f"{name}.asleep"]
        if len(asleep) <= count:
            s[f"{name}.asleep"] = ()
        else:
            assert count == 1
            lucky = pick(asleep)
            s[f"{name}.asleep"] = tuple(thread for thread in asleep if thread != lucky)
        return following

    return {label: epoch, f"{label}.wake": wake_up}


def sleep(name, label, me, following, timed=False):
    """The kernel's part of be_gate_park: sleeps only while the epoch is t["epoch"]. `timed`: may also give up."""

    def lie_down(s, t, pick):
        if s[f"{name}.epoch"] == t["epoch"]:
            s[f"{name}.asleep"] = tuple(sorted((*s[f"{name}.asleep"], me)))
            return f"{label}.asleep"
        return following

    def stand_up(s, t, pick):
        if me not in s[f"{name}.asleep"]:
            return following
        if not timed:
            return BLOCKED
        s[f"{name}.asleep"] = tuple(thread for thread in s[f"{name}.asleep"] if thread != me)
        t["late"] = True
        return following

    return {label: lie_down, f"{label}.asleep": stand_up}
