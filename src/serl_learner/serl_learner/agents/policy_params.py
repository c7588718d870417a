"""What an actor is given: the policy, and as far as there are any its encoder and grasp critic."""

from __future__ import annotations

from typing import Any


def join(encoder: Any, policy: Any, grasp: Any = None) -> Any:
    """One tree; of a policy that needs neither of the others, its own."""
    others = {"encoder": encoder} if encoder else {}
    if grasp is not None:
        others["grasp"] = grasp
    return {**others, "policy": policy} if others else policy


def split(params: Any) -> tuple[Any, Any, Any]:
    """Encoder, {} without one; policy; grasp critic, None without one."""
    if "policy" not in params:
        return {}, params, None
    return params.get("encoder", {}), params["policy"], params.get("grasp")
