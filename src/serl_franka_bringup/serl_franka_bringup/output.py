"""Writes results: JSON for machines, and the binomial interval that goes with a rate."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_json(path: Path | None, content: Mapping[str, Any]) -> None:
    """Writes `content`, non-finite numbers as null; nothing without a path."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_finite(content), indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _finite(value: Any) -> Any:
    """`value` as strict JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def binomial_interval(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a success rate (95 % for z = 1.96); (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    rate, weight = successes / trials, z * z / trials
    centre = rate + weight / 2
    spread = z * math.sqrt(rate * (1 - rate) / trials + weight / (4 * trials))
    low, high = (centre - spread) / (1 + weight), (centre + spread) / (1 + weight)
    return max(0.0, low), min(1.0, high)
