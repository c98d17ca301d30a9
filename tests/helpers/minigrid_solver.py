"""A policy that solves MiniGrid's levels. It sees the whole grid, so that keys, doors, boxes and ends are met, which
random actions hardly ever meet."""

import itertools
import re
from collections import deque

import numpy as np

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE = range(7)
EMPTY, WALL, FLOOR, DOOR, KEY, BALL, BOX, GOAL, LAVA = range(1, 10)
TYPES = {"key": KEY, "ball": BALL, "box": BOX, "door": DOOR}
COLORS = {"red": 0, "green": 1, "blue": 2, "purple": 3, "yellow": 4, "grey": 5}
AHEAD = ((1, 0), (0, 1), (-1, 0), (0, -1))
THING = re.compile(rf"({'|'.join(COLORS)}) ({'|'.join(TYPES)})")
LOCKED_COST, OBJECT_COST = 60, 25  # steps that it may take to get past


class Solver:
    """Chooses actions for the lanes of a BatchEnv of a level of MiniGrid.

    Args:
        env: the BatchEnv; it has been reset.
        seed: for the random actions of lanes for which there is no plan, and of `noise`.
        noise: how often an action is random.
        lanes: for which it chooses; None: all.
    """

    def __init__(self, env, seed=0, noise=0.0, lanes=None):
        self.env, self.noise, self.rng = env, noise, np.random.default_rng(seed)
        self.lanes = list(range(env.num_envs)) if lanes is None else lanes
        self.plans = [[] for _ in self.lanes]
        self.num_actions = int(env.single_action_space.n)

    def actions(self, ended):
        """One action per lane that it plays, int64. ended: bool (n,), lanes whose episode has begun anew, or ends."""
        wanting = []
        for k, (plan, has_ended) in enumerate(zip(self.plans, ended[self.lanes], strict=True)):
            if has_ended:
                plan.clear()
            if not plan:
                wanting.append(k)
        if wanting:
            names = ("grid", "agent_pos", "agent_dir", "carrying", "mission")
            values = [self.env.get_attr(name) for name in names]
            for k in wanting:
                self.plans[k] = World(*(value[self.lanes[k]] for value in values)).plan()
        chosen = [plan.pop(0) if plan else int(self.rng.integers(self.num_actions)) for plan in self.plans]
        for k in np.flatnonzero(self.rng.random(len(chosen)) < self.noise):
            chosen[k] = int(self.rng.integers(self.num_actions))
            self.plans[k] = []
        return np.array([action if action < self.num_actions else FORWARD for action in chosen], np.int64)


class World:
    """A lane at one moment."""

    def __init__(self, grid, place, direction, carrying, mission):
        self.cells, self.carrying, self.mission = grid.encode(), carrying, mission
        self.start = (*place, direction)
        self.kinds = self.cells[:, :, 0]
        self.table = self.kinds.tolist()  # single numbers are read from a list several times as fast

    # ---- what to do ----------------------------------------------------------------------------------------------

    def plan(self):
        """The next actions; [] if none is known."""
        for wanted in self.wanted():
            if wanted is not None:
                return wanted
        return []

    def wanted(self):
        """Plans of which the first one that is possible is good."""
        things = [(COLORS[color], TYPES[name]) for color, name in THING.findall(self.mission)]
        goals = np.argwhere(self.kinds == GOAL).tolist()
        if "matching object" in self.mission:
            yield self.go_onto(self.matching())
        elif goals:
            yield self.go_onto(goals[0])
        elif self.mission.startswith("put"):
            yield self.put_near(*things)
        elif self.mission.startswith("go to"):
            yield self.do_at(self.places(*things[0]), DONE)
        elif self.mission.startswith("open the red door"):
            red, blue = (self.places(color, DOOR)[0] for color in (COLORS["red"], COLORS["blue"]))
            yield self.do_at([red if self.cells[*red, 2] == 1 else blue], TOGGLE)
        elif self.mission == "open the door":
            door = np.argwhere(self.kinds == DOOR).tolist()[0]
            yield self.do_at([door], TOGGLE) if self.can_enter(*door) else self.get_key(int(self.cells[*door, 1]))
        elif things:
            yield self.pick_up(*things[0])

    def places(self, color, kind):
        return np.argwhere((self.kinds == kind) & (self.cells[:, :, 1] == color)).tolist()

    def matching(self):
        """Memory's: beside the object at the end of the hallway that is like the first one."""
        objects = np.argwhere(np.isin(self.kinds, (KEY, BALL))).tolist()
        cue, *others = sorted(objects)
        x, y = next(place for place in others if self.kinds[*place] == self.kinds[*cue])
        return [x, y + (1 if y < self.kinds.shape[1] // 2 else -1)]

    def put_near(self, thing, other):
        if self.carrying is None:
            return self.pick_up(*thing)
        ways = list(itertools.product((-1, 0, 1), repeat=2))
        spots = [[x + dx, y + dy] for x, y in self.places(*other) for dx, dy in ways if self.is_free(x + dx, y + dy)]
        return self.do_at(spots, DROP)

    def pick_up(self, color, kind):
        places = self.places(color, kind)
        if not places:  # it is in a box
            return self.do_at(np.argwhere(self.kinds == BOX).tolist(), TOGGLE)
        if self.carrying is None:
            return self.do_at(places, PICKUP)
        held, self.carrying = self.carrying, None
        is_open = self.path_to_face(places) is not None
        self.carrying = held
        if is_open:
            return self.put_down(places)
        way = self.do_at(places, PICKUP)  # as far as the door for which the key is
        return way[: way.index(TOGGLE) + 1] if way and TOGGLE in way else way

    def put_down(self, kept=()):
        """Drops what is carried where it is in nobody's way."""
        spots = [place for place in np.argwhere(self.kinds == EMPTY).tolist() if self.is_aside(place, kept)]
        path = self.path_to_face(spots)
        return None if path is None else [*path, DROP]

    def is_free(self, x, y):
        return 0 <= x < self.kinds.shape[0] and 0 <= y < self.kinds.shape[1] and self.kinds[x, y] == EMPTY

    def is_aside(self, place, kept):
        """Whether an object there leaves all ways open: the free cells around it hang together."""
        x, y = place
        if [x, y] == list(self.start[:2]) or any(abs(x - a) + abs(y - b) < 2 for a, b in kept):
            return False
        ring = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)]
        free = [self.is_walkable(x + dx, y + dy) for dx, dy in ring]
        sides = free[::2]
        if any(self.kinds[x + dx, y + dy] == DOOR for dx, dy in ring[::2]) or not any(sides):
            return False
        return sum(free[k] and not free[k - 1] for k in range(8)) <= 1

    def is_walkable(self, x, y):
        return self.table[x][y] in (EMPTY, FLOOR, GOAL) or self.is_open(x, y)

    def is_open(self, x, y):
        return self.table[x][y] == DOOR and self.cells[x, y, 2] == 0

    # ---- how to do it --------------------------------------------------------------------------------------------

    def go_onto(self, place):
        """Steps onto a cell, past what is in the way."""
        path = self.path(lambda x, y, _: [x, y] == list(place))
        return path if path is not None else self.clear_way([place])

    def do_at(self, places, action):
        """Does something to one of these cells, past what is in the way."""
        path = self.path_to_face(places)
        return [*path, action] if path is not None else self.clear_way(places)

    def path_to_face(self, places):
        faced = {tuple(place) for place in places}
        return self.path(lambda x, y, d: (x + AHEAD[d][0], y + AHEAD[d][1]) in faced)

    def path(self, is_end):
        """The shortest way, with doors opened that can be; None: there is none."""
        before, queue = {self.start: None}, deque([self.start])
        while queue:
            node = queue.popleft()
            if is_end(*node):
                return self.trace(before, node)
            x, y, d = node
            for action, after in (
                (LEFT, (x, y, (d + 3) % 4)),
                (RIGHT, (x, y, (d + 1) % 4)),
                (FORWARD, (x + AHEAD[d][0], y + AHEAD[d][1], d)),
            ):
                if after in before or (action == FORWARD and not self.can_enter(after[0], after[1])):
                    continue
                before[after] = (node, action)
                queue.append(after)
        return None

    def trace(self, before, node):
        actions = []
        while before[node] is not None:
            x, y = node[:2]
            node, action = before[node]
            actions.append(action)
            if action == FORWARD and self.kinds[x, y] == DOOR and not self.is_open(x, y):
                actions.append(TOGGLE)
        return actions[::-1]

    def can_enter(self, x, y):
        if not (0 <= x < self.kinds.shape[0] and 0 <= y < self.kinds.shape[1]):
            return False
        if self.table[x][y] == DOOR and self.cells[x, y, 2] == 2:
            return self.carrying is not None and self.carrying[:2] == (KEY, int(self.cells[x, y, 1]))
        return self.table[x][y] == DOOR or self.is_walkable(x, y)

    def clear_way(self, places):
        """Deals with the first thing that is in the way to one of these cells: a locked door, or an object."""
        blocker = self.first_blocker({tuple(place) for place in places})
        if blocker is None:
            return None
        x, y = blocker
        if self.kinds[x, y] == DOOR:
            return self.get_key(int(self.cells[x, y, 1]))
        if self.carrying is not None:
            return self.put_down([blocker])
        path = self.path_to_face([blocker])
        return None if path is None else [*path, PICKUP]

    def get_key(self, color):
        keys = self.places(color, KEY)
        if keys and self.carrying is not None:
            return self.put_down(keys)
        return self.do_at(keys or np.argwhere(self.kinds == BOX).tolist(), PICKUP if keys else TOGGLE)

    def first_blocker(self, ends):
        """The first cell on the cheapest way to one of `ends` that cannot be entered now."""
        best, before, queue = {self.start[:2]: 0}, {}, [self.start[:2]]
        while queue:
            queue.sort(key=best.__getitem__, reverse=True)
            place = queue.pop()
            if place in ends:
                break
            for dx, dy in AHEAD:
                after = (place[0] + dx, place[1] + dy)
                if not (0 <= after[0] < self.kinds.shape[0] and 0 <= after[1] < self.kinds.shape[1]):
                    continue
                kind = self.table[after[0]][after[1]]
                if kind in (WALL, LAVA) and after not in ends:
                    continue
                cost = best[place] + 1
                if after not in ends and not self.can_enter(*after):
                    cost += LOCKED_COST if kind == DOOR else OBJECT_COST
                if cost < best.get(after, 10**9):
                    best[after], before[after] = cost, place
                    queue.append(after)
        else:
            return None
        way = [place]
        while way[-1] in before:
            way.append(before[way[-1]])
        return next((list(cell) for cell in way[-2::-1] if cell not in ends and not self.can_enter(*cell)), None)
