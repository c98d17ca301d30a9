"""Numbers that users give as arguments."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

Range = tuple[float, float]  # the least and the largest number


def integer(name: str, value: Any, low: int, high: int | None, hint: str = "") -> int:
    """`value` as an int in low..high. Raises TypeError or ValueError if it is not one."""
    if isinstance(value, (bool, np.bool_)) or str(getattr(value, "dtype", "")) in ("bool", "torch.bool"):
        raise TypeError(f"{name}={value!r} must be an int, not a bool{hint}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r} must be an int, not {type(value).__name__}{hint}") from None
    if number < low or (high is not None and number > high):
        rule = f"at least {low}" if high is None or number < low else f"at most {high}"
        raise ValueError(f"{name}={brief(number)} must be {rule}{hint}")
    return number


def number(name: str, value: Any, rule: str = "a number") -> float:
    """`value` as a float, which may be infinite or NaN. Arrays of no dimension, Decimal and Fraction are numbers; bool,
    str, complex numbers, dates and arrays of one component are not.

    Raises:
        TypeError: it is not a number.
        ValueError: it is too large for a float, or a signaling NaN.
    """
    wrong = isinstance(value, (bool, str, bytes, bytearray)) or getattr(value, "shape", ()) != ()
    if wrong or getattr(getattr(value, "dtype", None), "kind", "f") not in "iuf":
        raise TypeError(f"{name}={value!r} must be {rule}, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name}={brief(value)} must be {rule} that fits into float64: at most 1.8e308") from None
    except TypeError:
        raise TypeError(f"{name}={value!r} must be {rule}, not {type(value).__name__}") from None
    except ValueError:
        raise ValueError(f"{name}={value!r} must be {rule}") from None


def check_range(name: str, value: Any, least: float = -np.inf) -> Range:
    """`value` as two finite numbers, of which the second is not the smaller one, and none is below `least`.

    Raises:
        TypeError, ValueError: it is something else.
    """
    if isinstance(value, str) or np.shape(value) != (2,):
        raise TypeError(f"{name}={brief(value)} must be two numbers: (least, largest)")
    low, high = (number(name, one) for one in value)
    if not np.isfinite([low, high]).all() or low > high or low < least:
        rule = "" if least == -np.inf else f", both at least {least:g}"
        raise ValueError(f"{name}={brief(value)} must be finite numbers (least, largest){rule}")
    return low, high


def brief(value: Any) -> str:
    """`repr(value)`, cut in the middle where it is long: 10**400, a long list."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an int of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:38]}...{text[-38:]}"
