"""Toy text: keywords and lane attributes in the C core's terms, and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.arguments.numbers import brief, integer
from batchenv.backend.translator import Translator
from batchenv.envs.drawing import Drawn
from batchenv.registry import Family, add_family

add_family(Family("toy text", translators=__name__, gymnasium="gymnasium.envs.toy_text."))


class ToyText(Drawn):
    """What Gymnasium's toy-text environments on a grid have in common."""

    names: tuple[str, ...] = ("lastaction",)

    def attribute(self, name: str, batch: Any) -> list[Any]:
        """A lane attribute, as Gymnasium's environment has it: one value per lane."""
        return [None if action < 0 else action for action in batch.state()["lastaction"].tolist()]

    def put(self, env, lane, params, action):
        env.s = int(lane["s"])
        env.lastaction = int(lane["lastaction"]) if lane["lastaction"] >= 0 else None


class FrozenLake(ToyText):
    """FrozenLake: its map and its rewards."""

    KEYWORDS = (
        ("desc", None, "the map: rows of equal length, of S (start), G (goal), H (hole) and F (ice)"),
        ("map_name", "4x4", "without desc: '4x4' or '8x8'; None: a random map of 8x8, the same in all lanes"),
        ("reward_schedule", (1, 0, 0), "for the goal, a hole and ice: another way to give the three rewards"),
    )
    names = ("lastaction", "desc", "nrow", "ncol", "reward_schedule", "reward_range")
    REWARDS = ("reward_goal", "reward_hole", "reward_frozen")

    def to_core(self, keywords):
        """See `Translator.to_core`; the map is uint8 of shape (rows, columns)."""
        params = dict(keywords)
        map_name = params.pop("map_name", "4x4")
        desc = params.pop("desc", None)
        if "reward_schedule" in params:
            clash = [name for name in self.REWARDS if name in params]
            if clash:
                raise TypeError(f"reward_schedule says what {clash[0]} says: give one of them")
            params.update(zip(self.REWARDS, self._schedule(params.pop("reward_schedule")), strict=True))
        self._desc = self._named_map(map_name) if desc is None else self._map(desc)
        return params, self._desc.view(np.uint8)

    def lanes_differ(self, keywords):
        """See `Translator.lanes_differ`: a random map each."""
        return keywords.get("desc") is None and keywords.get("map_name", "4x4") is None

    def keywords(self):
        return {"desc": [b"".join(row).decode() for row in self._desc]}

    @staticmethod
    def _schedule(value: Any) -> Sequence[Any]:
        if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != 3:
            raise ValueError(f"reward_schedule={value!r} must be three numbers: (goal, hole, frozen)")
        return list(value)

    @classmethod
    def _named_map(cls, name: Any) -> NDArray[np.bytes_]:
        from gymnasium.envs.toy_text.frozen_lake import MAPS, generate_random_map

        if name is None:
            return cls._map(generate_random_map())
        if not isinstance(name, str):
            raise TypeError(f"map_name={name!r} must be a str or None, not {type(name).__name__}")
        if name not in MAPS:
            names = ", ".join(map(repr, MAPS))
            raise ValueError(
                f"map_name={name!r} must be one of {names}, or None for a random map; desc=[...] gives yours"
            )
        return cls._map(MAPS[name])

    @staticmethod
    def _map(desc: Any) -> NDArray[np.bytes_]:
        """`desc` as an array of characters, dtype S1, shape (rows, columns)."""
        rule = "must be rows of equal length, such as desc=['SFF', 'FHG']"
        if isinstance(desc, (str, bytes)) or not isinstance(desc, (list, tuple, np.ndarray)):
            raise TypeError(f"desc={desc!r} {rule}")
        try:
            rows = [[c.decode("ascii") if isinstance(c, bytes) else c for c in _cells(row)] for row in desc]
        except (TypeError, UnicodeDecodeError):
            raise TypeError(f"desc={brief(desc)} {rule}") from None
        for i, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise ValueError(f"desc's row {i} has {len(row)} cells and row 0 has {len(rows[0])}: desc {rule}")
            for j, c in enumerate(row):
                if not isinstance(c, str) or len(c) != 1 or not "\0" < c <= "\x7f":
                    raise ValueError(f"desc's cell {j} of row {i} is {c!r}: each must be one ASCII character")
        if not rows or not rows[0]:
            raise ValueError(f"desc={brief(desc)} has no cells: desc {rule}")
        return np.array(rows, dtype="S1")

    def attribute(self, name, batch):
        lanes = len(batch.elapsed())
        if name == "desc":
            return [self._desc.copy() for _ in range(lanes)]
        if name in ("nrow", "ncol"):
            return [self._desc.shape[name == "ncol"]] * lanes
        if name in ("reward_schedule", "reward_range"):
            params = batch.get_params()
            columns = [np.broadcast_to(params[reward], lanes).tolist() for reward in self.REWARDS]
            schedules = list(zip(*columns, strict=True))
            return schedules if name == "reward_schedule" else [(min(s), max(s)) for s in schedules]
        return super().attribute(name, batch)


class CliffWalking(ToyText):
    """CliffWalking: nothing of its own."""


class Taxi(ToyText):
    """Taxi: whether its passengers are about to change their minds, as a bool."""

    names = ("lastaction", "fickle_step")

    def attribute(self, name, batch):
        if name == "fickle_step":
            return [bool(value) for value in batch.state()["fickle_step"]]
        return super().attribute(name, batch)

    def put(self, env, lane, params, action):
        super().put(env, lane, params, action)
        env.taxi_orientation = int(lane["taxi_orientation"])


SUITS = "CDHS"


def card_name(value: int) -> str:
    """A card as Gymnasium's pictures name it: 1 (ace) to 10, 11 to 13 for jack, queen and king."""
    return {1: "A", 11: "J", 12: "Q", 13: "K"}.get(int(value), str(value))


class Blackjack(Drawn):
    """Blackjack: hands as lists of cards, and the dealer's top card as its picture shows it."""

    names = ("player", "dealer", "dealer_top_card_suit", "dealer_top_card_value_str")

    def attribute(self, name, batch):
        state = batch.state()
        if name == "dealer_top_card_suit":
            return [SUITS[suit] for suit in state["top_card_suit"]]
        if name == "dealer_top_card_value_str":
            return [card_name(value) for value in state["top_card_value"]]
        return [[card for card in hand if card] for hand in state[name].tolist()]

    def put(self, env, lane, params, action):
        for hand in ("player", "dealer"):
            setattr(env, hand, [int(card) for card in lane[hand] if card])
        env.dealer_top_card_value_str = card_name(lane["top_card_value"])
        env.dealer_top_card_suit = SUITS[lane["top_card_suit"]]


class Catch(Translator):
    """Catch: the size of its board. Gymnasium does not have it, so nothing draws it."""

    KEYWORDS = (("height", 10, "rows of the board, at least 2"), ("width", 5, "columns of the board"))
    names = ("height", "width")
    MAX_CELLS = 2**20

    def to_core(self, keywords):
        """See `Translator.to_core`; the map is a board of empty cells."""
        params = dict(keywords)
        height = integer("height", params.pop("height", 10), 2, self.MAX_CELLS)
        width = integer("width", params.pop("width", 5), 1, self.MAX_CELLS)
        if height * width > self.MAX_CELLS:
            raise ValueError(
                f"height={height} and width={width} make {height * width} cells: at most {self.MAX_CELLS} are possible"
            )
        self._size = height, width
        return params, np.zeros(self._size, np.uint8)

    def keywords(self):
        return dict(zip(self.names, self._size, strict=True))

    def attribute(self, name, batch):
        return [self.keywords()[name]] * len(batch.elapsed())


def _cells(row: Any) -> Any:
    """The cells of one row of a map: of a str or bytes its characters."""
    return row.decode("ascii") if isinstance(row, bytes) else row
