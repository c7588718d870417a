"""Adam (arXiv:1412.6980), as every network of the agents has it, each with moments of its own."""

from __future__ import annotations

from typing import Any

import optax


def adam(learning_rate: float) -> optax.GradientTransformation:
    """The optimizer."""
    return optax.adam(learning_rate)


def step(learning_rate: float, gradient: Any, moments: Any, params: Any) -> tuple[Any, Any]:
    """Parameters and moments after one step."""
    updates, moments = adam(learning_rate).update(gradient, moments, params)
    return optax.apply_updates(params, updates), moments
