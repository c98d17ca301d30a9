"""The backend for environments written in Python that wait: all lanes go on at the same time, in an event loop."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv import _core
from batchenv.backend.arrivals import Arrivals
from batchenv.backend.course import Course
from batchenv.backend.protocol import Arguments, Flags, InfoDict, Options
from batchenv.backend.snapshot import Snapshot
from batchenv.spaces import nested
from batchenv.workers.asyncio.event_loop import EventLoop
from batchenv.workers.asyncio.lane import Order, Script
from batchenv.workers.asyncio.scripts import given, keep_script, put_script, renewing, reset_script, step_script
from batchenv.workers.backend import PythonBackend, check_env, check_spaces
from batchenv.workers.saved import Saved


class WaitingBackend(PythonBackend):
    """See `Backend`. The envs' methods are called in an event loop. When lanes have landed, the C core steps
    them, and is given what their envs have returned: so it does for them what it does for all lanes.

    Args:
        env_id: used in messages.
        makers: a function per lane that makes its env.
        step_timeout: seconds that a call of an env may take; None: as long as it takes.
        **options: as `PythonBackend`.
    """

    def __init__(self, env_id: str, makers: Sequence[Callable[[], Any]], step_timeout: float | None, **options: Any):
        count = len(makers)
        self._same_step = options["autoreset_mode"] is AutoresetMode.SAME_STEP
        self._limit, self._restarts = options["limit"], options["on_failure"] == "restart"
        self._loop = EventLoop(makers, step_timeout)
        self._finalizer = weakref.finalize(self, _end, self._loop)
        super().__init__(
            env_id, [functools.partial(self._loop.env, k) for k in range(count)], "asyncio", **{**options, "threads": 1}
        )
        self._repeat = self.transforms["action_repeat"]
        self._tree = nested.tree_of([port.name for port in self.actions.ports])
        self._taken_actions = [np.zeros((count, *shape), dtype) for dtype, shape in _core.columns_of(self.core)[1]]
        # They are held by the C core, which Python's collector does not look into, so they must not hold this object.
        ask = weakref.WeakMethod(self._ask_lane)
        self._proxies = [_core.Answers(functools.partial(_call_method, ask, lane)) for lane in range(count)]
        self.lanes.envs = self._proxies
        if self._restarts:
            self.lanes.renew = functools.partial(_call_method, weakref.WeakMethod(self._renew))
        self._orders: list[Any] = [None] * count  # the last one of each lane
        self._flight = _core.Flight(self.core, options["batch_size"])
        self._landed = Arrivals(self._flight.rows)
        self._resetting = np.zeros(count, np.uint8)  # of these, the lanes that were sent to be reset

    def _close_envs(self) -> None:
        try:
            self._loop.end()
        finally:
            self._finalizer.detach()
            self.envs.clear()
            if hasattr(self, "_landed"):
                self._landed.close()

    def set_plan(
        self, course: Course | None, places: NDArray[np.int64] | None = None, rows: NDArray[np.int64] | None = None
    ) -> None:
        self._flight.refuse("a plan")
        super().set_plan(course, places, rows)

    # ---- what lanes are asked for --------------------------------------------------------------------------------

    def _reset_script(self, lane: int) -> Callable[[Order], Script]:
        """A reset, with what the user has ordered for it."""
        ordered = self._ordered(lane, again=True)
        keywords = {} if ordered is None else {"seed": ordered[0], "options": ordered[1]}
        return reset_script(keywords, lane in self.lanes.broken)

    def _ordered(self, lane: int, again: bool = False) -> tuple[Any, Any] | None:
        """What the next reset of a lane gets, or None. again: decide anew which entry of a plan it is."""
        agenda = self.core.agenda
        return self.lanes.order(lane, _core.NO_ENTRY if agenda is None else agenda.decide(lane, again))

    def _order_steps(self, lanes: Sequence[int], arrivals: Arrivals) -> list[Order]:
        """Sends lanes to be stepped with the actions that have been taken, or to be reset where that is due."""
        numbers = np.asarray(lanes, np.int64)
        actions = self.lanes.actions_of(lanes, self._taken_actions)
        counts = self._repeat > 1 or self._same_step  # else the limit matters only to the C core
        elapsed = self.core.elapsed() if counts and self._limit else None
        scripts = []
        for lane, action, pending in zip(lanes, actions, self.core.pending(numbers), strict=True):
            if pending:
                scripts.append(self._reset_script(lane))
            else:
                left = 0 if elapsed is None else max(1, self._limit - int(elapsed[lane]))
                after = self._ordered(lane, again=True) if self._same_step else None
                keywords = {} if after is None else {"seed": after[0], "options": after[1]}
                scripts.append(step_script(action, self._repeat, left, keywords, self._same_step, self._restarts))
        return self._send_off(lanes, scripts, arrivals)

    def _send_off(self, lanes: Iterable[int], scripts: Iterable[Any], arrivals: Arrivals) -> list[Order]:
        orders = [Order(self._loop.lanes[lane], arrivals, script) for lane, script in zip(lanes, scripts, strict=True)]
        for order in orders:
            self._orders[order.lane.number] = order
        self._loop.start(orders)
        return orders

    def _do(self, lanes: Sequence[int], send: Callable[[Arrivals], list[Order]]) -> None:
        """Waits for lanes that `send` sends off, and lets the C core have their answers."""
        arrivals = Arrivals()
        with _core.Whole(self.core):
            self._wait(send(arrivals), arrivals)
        self._answer(lanes)

    def _wait(self, orders: list[Order], arrivals: Arrivals) -> None:
        """Waits for orders, and drops them if it is interrupted."""
        try:
            arrivals.wait(len(orders))
        except BaseException:
            self._loop.drop(orders)
            raise

    def _answer(self, lanes: Iterable[int]) -> None:
        for lane in lanes:
            self._proxies[lane].known = list(self._orders[lane].answers)

    def _ask_lane(self, lane: int, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What the C core needs of an env after all, such as a reset after a step whose result was wrong."""
        last = self._orders[lane]
        if self._loop.lanes[lane].busy:  # with what was given up
            raise last.answers[0][1]
        arrivals = Arrivals()
        script = renewing if name == "renew" else lambda order: iter([(name, arguments, keywords)])
        order = Order(self._loop.lanes[lane], arrivals, script)
        self._loop.start([order])
        arrivals.wait(1)
        return order.answer()

    def _renew(self, lane: int) -> None:
        """Lets the C core have the new env of a lane."""
        known = self._proxies[lane].known
        if known and known[0][0] in ("renew", ""):
            _, problem, env = known.pop(0)
            if problem is not None:
                raise problem
        else:
            env = self._ask_lane(lane, "renew", (), {})
        check_env(env, lane)
        check_spaces(env, self._made, lane)
        self.envs[lane] = env

    # ---- what BatchEnv calls -------------------------------------------------------------------------------------

    def _check(self, doing: str) -> None:
        if self._loop.foreign:
            raise RuntimeError(f"{doing} in a forked process: its event loop is the parent's; make a new env here")

    def _settle(self) -> None:
        """Waits for the lanes in flight, and drops their results."""
        if self._flight.count and self.core.needs_reset:
            # A call has been interrupted, and nobody knows how many of these lanes it has sent off.
            self._loop.drop([order for order in self._orders if order is not None and not order.done])
            self._landed = self._landed.replaced()
        else:
            self._landed.wait(self._flight.count)
            self._drop_entries(self._landed.lanes)
            self._landed.take(len(self._landed.lanes))
        self._flight.clear()
        self._resetting[:] = 0

    def _drop_entries(self, lanes: Iterable[int]) -> None:
        """Notes that episodes of the plan which these lanes have begun in flight are dropped."""
        agenda = self.core.agenda
        if agenda is None:
            return
        for lane in lanes:
            if agenda.places[lane, 3] >= 0 and any(name == "reset" for name, _, _ in self._orders[lane].answers):
                agenda.places[lane, 3] = _core.UNDECIDED

    def reset(self, seeds: Any, mask: Flags | None, options: Options) -> tuple[Any, InfoDict]:
        doing = "env.reset()" if mask is None else "env.reset(options={'reset_mask': ...})"
        self._check(doing)
        if mask is None:
            self._settle()
        else:
            self.core.refuse_in_flight(doing, mask.view(np.uint8))
            self._flight.refuse("reset() of some lanes")
        lanes = range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist()
        self.core.apply_skips()
        self._order(seeds, mask, options)
        self._do(lanes, lambda arrivals: self._send_off(lanes, map(self._reset_script, lanes), arrivals))
        return super().reset(seeds, mask, options)

    def step(self, actions: Any, out: Any) -> Any:
        self._check("env.step()")
        self._flight.refuse("step()")
        self.core.refuse_unready(None, "env.step()", "stepping", "no lane has been stepped")
        _core.take_actions(self.core, self._taken(actions, None), None, self._taken_actions, out)
        lanes = range(self.num_envs)
        self._do(lanes, lambda arrivals: self._order_steps(lanes, arrivals))
        return self.step_taken(nested.build(self._tree, self._taken_actions), out)

    def step_some(self, actions: Any, env_id: Any, out: Any) -> Any:
        self._check("env.step()")
        self._flight.refuse("step()")
        lanes = self._take(actions, env_id, out, "env.step()", "stepping", "no lane has been stepped")
        numbers = lanes.tolist()
        self._do(numbers, lambda arrivals: self._order_steps(numbers, arrivals))
        return self.step_some_taken(self._rows(lanes), lanes, out)

    def _take(self, actions: Any, env_id: Any, out: Any, doing: str, what: str, ending: str) -> NDArray[np.int64]:
        """Checks lanes, their actions and `out`, and takes the actions; returns the lanes."""
        lanes = self._flight.lanes(env_id, ending)
        self.core.refuse_unready(lanes, doing, what, ending)
        _core.take_actions(self.core, self._taken(actions, lanes), lanes, self._taken_actions, out)
        return lanes

    def _rows(self, lanes: NDArray[np.int64]) -> Any:
        """The actions that these lanes have taken, for the C core."""
        return nested.build(self._tree, [column[lanes] for column in self._taken_actions])

    # ---- lanes in flight -----------------------------------------------------------------------------------------

    def send(self, actions: Any, env_id: Any) -> NDArray[np.int64]:
        self._check("send()")
        lanes = self._take(actions, env_id, None, "send()", "sending", "nothing was sent")
        with _core.Whole(self.core):
            self._flight.depart(lanes)
            self._order_steps(lanes.tolist(), self._landed)
        return lanes

    def send_reset(self, seeds: Any, options: Options) -> None:
        self._check("async_reset()")
        self._settle()
        self.core.apply_skips()
        self._order(seeds, None, options)
        self.core.expect_resets()
        with _core.Whole(self.core):
            lanes = range(self.num_envs)
            self._flight.depart(np.array(lanes))
            self._resetting[:] = 1
            self._send_off(lanes, map(self._reset_script, lanes), self._landed)

    def recv(self, timeout: float | None) -> Any:
        self._check("recv()")
        self._flight.refuse_starved()
        rows = self._flight.rows
        if not self._landed.wait(rows, timeout):
            raise _core.batch_late(rows, timeout)
        with _core.Whole(self.core):
            lanes = self._landed.receive(self._flight)
            self._answer(lanes.tolist())
            resets = self._resetting[lanes]
            self._resetting[lanes] = 0
            actions = self._rows(lanes)
            return self.complete(lambda: self.core.deliver(self.core.step_some(actions, lanes, None, resets)))

    def in_flight(self) -> int:
        return self._flight.count

    def fileno(self) -> int:
        return self._landed.fileno()

    # ---- snapshots -----------------------------------------------------------------------------------------------

    def save(self, lanes: NDArray[np.int64]) -> Saved:
        self._check("env.snapshot()")
        self._flight.refuse("snapshot()", lanes)
        return super().save(lanes)

    def _keep(self, kind: str, lanes: Sequence[int]) -> list[Any]:
        return self._script(lanes, [keep_script(kind, self.lanes.held(lane)) for lane in lanes])

    def restore(self, snapshot: Snapshot, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> Any:
        self._check("env.restore()")
        if self.core.needs_reset and len(lanes) == self.num_envs:
            self._settle()
        self._flight.refuse("restore()", lanes)
        return super().restore(snapshot, rows, lanes)

    def _give(self, parts: Saved, lanes: Sequence[int]) -> list[Any]:
        calls = [
            (given, (parts.kind, row.env, self._loop.lanes[lane]), {})
            for row, lane in zip(parts.rows, lanes, strict=True)
        ]
        return self._ask(lanes, calls)

    def _put(self, kind: str, given: Sequence[Any], lanes: Sequence[int]) -> Iterator[Any]:
        for lane, held in zip(lanes, self._script(lanes, [put_script(kind, one) for one in given]), strict=True):
            self.envs[lane] = self._loop.lanes[lane].env
            yield held

    # ---- what envs have and do -----------------------------------------------------------------------------------

    def _ask(self, lanes: Iterable[int], calls: Iterable[tuple[Any, tuple[Any, ...], dict[str, Any]]]) -> list[Any]:
        """The results of calls, one for each of these lanes, which are made when what the lane does now is done."""
        return self._script(lanes, [lambda order, call=call: iter([call]) for call in calls])

    def _script(self, lanes: Iterable[int], scripts: Iterable[Callable[[Order], Script]]) -> list[Any]:
        """The results of scripts that have one answer in the end, likewise."""
        self._check("a question to the envs")
        arrivals = Arrivals()
        orders = [Order(self._loop.lanes[lane], arrivals, script) for lane, script in zip(lanes, scripts, strict=True)]
        self._loop.start(orders)
        self._wait(orders, arrivals)
        return [order.answer() for order in orders]

    def apply(self, function: Callable[..., Any], arguments: Arguments, lanes: Sequence[int]) -> list[Any]:
        envs = [self._loop.lanes[lane].env for lane in lanes]
        return self._ask(lanes, [(function, (env, *own), {}) for env, own in zip(envs, arguments, strict=True)])


def _end(loop: EventLoop) -> None:
    """Ends a loop that nobody has closed, so that there is nobody to be told how that went."""
    with contextlib.suppress(Exception):
        loop.end()


def _call_method(method: Callable[[], Any], *arguments: Any) -> Any:
    """Calls the method to which a weak reference refers."""
    return method()(*arguments)
