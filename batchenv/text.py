"""Observations that are texts: what holds them, and their space."""

from __future__ import annotations

import itertools
import operator
import string
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

_LONGEST = 2**20  # characters of a text that is not known before
_MOST_MISSIONS = 2**16  # texts of a space of MiniGrid's that are compared with ours


def _with_items(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The method of `Texts` that does this with the items, and with those of other texts."""
    return lambda self, other: operation(self._items(), _plain(other))


class Texts(tuple):
    """The texts of several lanes: a tuple of str, as Gymnasium's vector environments have it, whose items are made when
    one of them is first read. So a step of thousands of lanes makes none that nobody reads.

    It equals the tuple of its items, and copies and pickles are plain tuples. Those of a rollout have an item per step,
    which has the texts of the lanes. It can be indexed as an array of its codes can: with slices, arrays and [t, lane].

    Attributes:
        codes: int64 (lanes,) or (lanes, k): the codes that stand for the texts. Do not change it in place.
    """

    # The tuple itself stays empty. Whoever reads a subclass of tuple by way of these methods, as Python does, gets the
    # items; reading a tuple's memory is for the class tuple alone.

    codes: NDArray[np.int64]
    _source: Any  # a _core.TextSource
    _made: tuple[Any, ...] | None

    def __new__(cls, codes: NDArray[np.int64], source: Any) -> Texts:
        """codes: of the lanes, on which later steps do not write; source: knows their texts."""
        self = tuple.__new__(cls)
        self.codes, self._source, self._made = codes, source, None
        return self

    def _items(self) -> tuple[Any, ...]:
        made = self._made
        if made is None:
            if self.codes.ndim > 1 + self._source.ndim:
                made = tuple([Texts(codes, self._source) for codes in self.codes])
            else:
                made = self._source.texts(self.codes)
            self._made = made
        return made

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items())

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self._items())

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, (slice, np.ndarray, tuple, list)):
            return self._items()[key]
        codes = self.codes[key]
        return Texts(codes, self._source) if np.ndim(codes) > self._source.ndim else self._source.text(codes)

    def __contains__(self, item: Any) -> bool:
        return item in self._items()

    __eq__, __ne__ = _with_items(operator.eq), _with_items(operator.ne)
    __lt__, __le__ = _with_items(operator.lt), _with_items(operator.le)
    __gt__, __ge__ = _with_items(operator.gt), _with_items(operator.ge)
    __add__ = _with_items(operator.add)

    def __hash__(self) -> int:
        return hash(self._items())

    def __radd__(self, other: Any) -> tuple[Any, ...]:
        return _plain(other) + self._items()

    def __mul__(self, times: Any) -> tuple[Any, ...]:
        return self._items() * times

    __rmul__ = __mul__

    def count(self, value: Any) -> int:
        """How many items equal `value`."""
        return self._items().count(value)

    def index(self, value: Any, *bounds: Any) -> int:
        """The place of the first item that equals `value`."""
        return self._items().index(value, *bounds)

    def __repr__(self) -> str:
        return repr(self._items())

    def __copy__(self) -> tuple[Any, ...]:
        return self._items()

    def __deepcopy__(self, memo: Any) -> tuple[Any, ...]:
        return tuple([tuple(item) if isinstance(item, Texts) else item for item in self._items()])

    def __reduce_ex__(self, protocol: Any) -> Any:
        return tuple, (list(self._items()),)


def _plain(value: Any) -> Any:
    return value._items() if isinstance(value, Texts) else value


class _SharedText(spaces.Text):
    """A space of texts whose copies share what does not change."""

    def __deepcopy__(self, memo: Any) -> Any:
        """A vector environment has a copy per lane. What does not change is the same in all of them."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        if self._np_random is not None:
            made._np_random = np.random.Generator(type(self._np_random.bit_generator)())
            made._np_random.bit_generator.state = self._np_random.bit_generator.state
        return made


class TextSpace(_SharedText):
    """The space of one of the texts that are listed. It equals other such spaces of the same texts, and MiniGrid's
    MissionSpace where that has the same."""

    def __init__(self, texts: Sequence[str], seed: Any = None):
        """texts: at least one."""
        self.texts = tuple(texts)
        self._known = frozenset(self.texts)
        lengths = [len(text) for text in self.texts]
        charset = frozenset("".join(self.texts)) or frozenset(string.ascii_lowercase)
        spaces.Text.__init__(self, max(1, *lengths), min_length=min(lengths), charset=charset, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """One of the texts, drawn uniformly."""
        if mask is not None or probability is not None:
            raise ValueError("a space of listed texts has no masks: leave out mask and probability")
        return self.texts[int(self.np_random.integers(len(self.texts)))]

    def contains(self, x: Any) -> bool:
        """Whether it is one of the texts."""
        return isinstance(x, str) and x in self._known

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, TextSpace):
            return self._known == other._known
        return type(other).__name__ == "MissionSpace" and self._known == _missions(other)

    __hash__ = None  # type: ignore[assignment]  # as Gymnasium's spaces

    def __repr__(self) -> str:
        some = ", ".join(map(repr, self.texts[:3]))
        return f"TextSpace({some}{', ...' if len(self.texts) > 3 else ''})"


def _missions(space: Any) -> frozenset[str] | None:
    """The texts of a MissionSpace; None if they are too many."""
    lists = space.ordered_placeholders or []
    total = 1
    for options in lists:
        total *= len(options)
    if total > _MOST_MISSIONS:
        return None
    return frozenset(space.mission_func(*words) for words in itertools.product(*lists))


class AnyText(spaces.Text):
    """The space of texts that are not known before. It equals BabyAI's space of missions, which has all texts."""

    def __init__(self) -> None:
        super().__init__(_LONGEST, charset=frozenset(string.printable))

    def __eq__(self, other: Any) -> bool:
        return super().__eq__(other) or type(other).__name__ == "BabyAIMissionSpace"

    __hash__ = None  # type: ignore[assignment]  # as Gymnasium's spaces


def space_of(texts: Sequence[str] | None) -> spaces.Text:
    """The space of these texts; None: they are not known before."""
    return AnyText() if texts is None else TextSpace(texts)
