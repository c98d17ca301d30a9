"""What lanes are asked for: scripts, which yield calls of their envs one after the other.

Scripts are held by the event loop, so they must not hold the backend: it ends the loop when nobody needs it any more.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from batchenv.workers import saved
from batchenv.workers.asyncio.lane import Lane, Order, Script, has_coroutines


def step_script(
    action: Any, repeat: int, left: int, keywords: dict[str, Any], resets: bool, restarts: bool
) -> Callable[[Order], Script]:
    """A step. repeat: how often the action is taken; left: after how many times the time limit ends the episode;
    resets: whether the next one begins at once, with these keywords; restarts: in a new env, if this one has failed.
    """

    if repeat == 1 and not resets:
        calls = (("step", (action,), {}),)
        return lambda order: calls  # the usual one, for which a generator would take longer

    def script(order: Order) -> Script:
        ended = False
        for k in range(repeat):
            yield "step", (action,), {}
            ended = k + 1 == left or _ends(order)
            if ended:
                break
        if ended and resets and _copied(order):
            yield from reset_script(keywords, restarts and order.answers[-1][1] is not None)(order)

    return script


def reset_script(keywords: dict[str, Any], restarts: bool) -> Callable[[Order], Script]:
    """A reset. restarts: of a new env."""

    def script(order: Order) -> Script:
        if restarts:
            yield from renewing(order)
            if order.answers[-1][1] is not None:
                return
        yield "reset", (), keywords

    return script


def keep_script(kind: str, held: Any) -> Callable[[Order], Script]:
    """Keeps an env for a snapshot: see `saved.keep`."""

    def script(order: Order) -> Script:
        yield saved.asked, (kind, order.lane.env), {}
        if order.answers[-1][1] is None:
            _, _, state = order.answers.pop()
            yield saved.keep, (kind, order.lane.env, state, held), {}

    return script


def given(kind: str, kept: Any, lane: Lane) -> Any:
    """What `saved.give` returns for a lane."""
    given = saved.give(kind, kept)
    if kind != "state" and has_coroutines(given[0]) is not (lane.thread is None):
        which = "plain" if lane.thread is None else "with coroutines"
        raise ValueError(
            f"lane {lane.number} cannot go on with an env of {type(given[0]).__name__}, which is {which}, unlike the "
            "lane's own: restore envs with coroutines in place of such, and plain ones in place of plain ones"
        )
    return given


def put_script(kind: str, given: Any) -> Callable[[Order], Script]:
    """Puts a lane's env into a state, or another env in its place. The answer is what the lane holds beside it."""

    def script(order: Order) -> Script:
        old = order.lane.env
        yield saved.tell, (kind, given, old), {}
        if order.answers[-1][1] is not None:
            return
        order.answers.pop()
        yield saved.put, (kind, given, old), {}
        name, problem, result = order.answers.pop()
        if problem is None and result[0] is not old:
            order.lane.env = result[0]
            yield old.close, (), {}
            order.answers.clear()  # nobody needs it any more
        order.answers.append((name, problem, result and result[1]))

    return script


def _ends(order: Order) -> bool:
    """Whether the last step has ended the episode, as far as can be told."""
    _, problem, result = order.answers[-1]
    if problem is not None:
        return True
    try:
        return bool(result[2]) or bool(result[3])
    except Exception:  # a wrong result, as the C core will say
        return False


def _copied(order: Order) -> bool:
    """Copies the last observation, since the reset that follows may write over it; False if that cannot be done."""
    name, problem, result = order.answers[-1]
    if problem is None:
        try:
            order.answers[-1] = (name, None, (copy.deepcopy(result[0]), *result[1:]))
        except Exception:
            return False
    return True


def renewing(order: Order) -> Script:
    """Closes an env that has failed, and makes a new one. The answer is called "renew"."""
    yield "close", (), {}
    order.answers.pop()  # the env has failed already, and that is reported
    yield order.lane.make, (), {}
    _, problem, env = order.answers.pop()
    if problem is None:
        order.lane.env = env
    order.answers.append(("renew", problem, env))
