"""What `evaluate` takes as a policy, as one kind of function."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# act(observations of all lanes, which lanes begin an episode) -> actions of all lanes.
Act = Callable[[Any, NDArray[np.bool_]], Any]


def actor(policy: Any, env: Any, seed: int, deterministic: bool) -> Act:
    """The function that acts for a policy.

    Raises:
        TypeError: it is no policy.
        ValueError: it is a text that does not mean one.
    """
    if isinstance(policy, str):
        if policy != "random":
            raise ValueError(f"policy={policy!r} must be 'random', a function, a torch module or a model of SB3's")
        env.action_space.seed(seed)
        return lambda observations, starts: env.action_space.sample()
    if _is_module(policy):
        return _of_module(policy)
    if callable(getattr(policy, "predict", None)):
        return _of_model(policy, deterministic)
    if not callable(policy):
        raise TypeError(
            f"policy={policy!r} must be a function of observations, a torch module, a model of SB3's or 'random', not "
            f"{type(policy).__name__}"
        )
    if _takes_starts(policy):
        return policy
    return lambda observations, starts: policy(observations)


def _takes_starts(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # functions in C need not say
        return False
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(needed) == 2


def _is_module(policy: Any) -> bool:
    torch = sys.modules.get("torch")  # whoever has a module has imported it
    return torch is not None and isinstance(policy, torch.nn.Module) and not hasattr(policy, "predict")


def _of_module(module: Any) -> Act:
    """A torch module: it gets tensors on its own device, in its evaluation mode, without gradients."""
    import torch  # pyright: ignore[reportMissingImports]

    device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))

    def act(observations: Any, starts: NDArray[np.bool_]) -> Any:
        was_training = module.training
        module.eval()
        try:
            with torch.no_grad():
                actions = module(_mapped(observations, lambda array: torch.as_tensor(array, device=device)))
        finally:
            module.train(was_training)
        return _mapped(actions, lambda tensor: tensor.cpu().numpy() if isinstance(tensor, torch.Tensor) else tensor)

    return act


def _mapped(tree: Any, function: Callable[[Any], Any]) -> Any:
    """A dict or tuple with the function's results in place of its leaves."""
    if isinstance(tree, dict):
        return {name: _mapped(part, function) for name, part in tree.items()}
    if isinstance(tree, tuple):
        return tuple(_mapped(part, function) for part in tree)
    return function(tree)


def _of_model(model: Any, deterministic: bool) -> Act:
    """A model with SB3's `predict`, which may be recurrent."""
    state: Any = None

    def act(observations: Any, starts: NDArray[np.bool_]) -> Any:
        nonlocal state
        actions, state = model.predict(observations, state=state, episode_start=starts, deterministic=deterministic)
        return actions

    return act
