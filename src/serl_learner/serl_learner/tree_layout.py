"""Trees of arrays as flat, named arrays: what of a tree must agree between two processes."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

Layout = dict[str, tuple[tuple[int, ...], str]]
"""Shape and dtype name of every leaf, by its path."""


def named_leaves(tree: Any) -> dict[str, Any]:
    """The leaves of a tree by path, in the tree's order."""
    return {jax.tree_util.keystr(p): leaf for p, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def layout_of(tree: Any) -> Layout:
    """Shapes and dtypes of all leaves."""
    return layout_of_leaves(named_leaves(tree))


def layout_of_leaves(leaves: dict[str, Any]) -> Layout:
    """Shapes and dtypes of leaves by path."""
    return {k: (tuple(v.shape), np.dtype(v.dtype).name) for k, v in leaves.items()}


def with_leaves(tree: Any, leaves: dict[str, np.ndarray]) -> Any:
    """The tree with its leaves replaced by those of the same paths."""
    values = [jax.numpy.asarray(leaves[name]) for name in named_leaves(tree)]
    return jax.tree.unflatten(jax.tree.structure(tree), values)


def differences(expected: Layout, found: Layout) -> list[str]:
    """What `found` lacks, has too much or has otherwise, one line each; empty if they agree."""
    lines = []
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            lines.append(f"{name} is missing, expected {expected[name]}")
        elif name not in expected:
            lines.append(f"{name} {found[name]} is not expected")
        elif tuple(found[name][0]) != expected[name][0] or found[name][1] != expected[name][1]:
            lines.append(f"{name} is {found[name]}, expected {expected[name]}")
    return lines
