"""What caching a few crops of each frame costs: against fresh crops in every batch, offline.

`python -m serl_franka_bringup.crops_comparison --seed 0` records demonstrations and episodes of a
noisy expert once, then trains one agent for each number of cached crops, and one whose batches are
cropped anew and run through the frozen network inside every update. All begin with the same
parameters and do the same updates, many times on little data. They are judged on episodes that
none has seen, on plain frames: by their TD error, and by how far Q is from the return that really
followed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from serl_franka_bringup import graph
from serl_franka_bringup.comparison import markdown
from serl_franka_bringup.critic_judge import HeldOut
from serl_franka_bringup.noisy_expert import Recorded, record_both
from serl_franka_bringup.output import write_json
from serl_franka_bringup.simulation_client import load_setup
from serl_learner.agents.config import SACConfig
from serl_learner.agents.sac import SACAgent
from serl_learner.encoding_agent import EncodingAgent
from serl_learner.frame_encoder import FrameEncoder, trunk_of
from serl_learner.learner import Learner, LearnerConfig
from serl_learner.replay import Ring
from serl_learner.types import Record, Source, spec_of
from serl_learner.updates import update_high_utd

FRESH = "fresh"
LOOKS = 4
"""So often each agent is judged, the last time at its end."""

_ROOM = 1.3
"""Room for frames beyond one for each record."""

Rings = tuple[Ring, Ring]
Result = dict[str, Any]


@dataclass(frozen=True)
class Budget:
    """How long each agent trains.

    Attributes:
      updates: of the critics.
      utd_ratio: of them for one of the policy.
      batch_size: transitions in each.
    """

    updates: int = 400
    utd_ratio: int = 4
    batch_size: int = 32

    def __post_init__(self) -> None:
        for name in ("updates", "utd_ratio", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")
        if self.updates % (LOOKS * self.utd_ratio):
            raise ValueError(
                f"updates is {self.updates}, expected a multiple of {LOOKS * self.utd_ratio}: "
                f"{LOOKS} looks after blocks of {self.utd_ratio}"
            )


def compare(
    recorded: Recorded, agent: SACConfig, budget: Budget, crops: Sequence[int], seed: int
) -> Iterator[Result]:
    """The figures of one agent after the other; `crops` are the numbers of cached ones.

    Raises:
      ValueError: the encoder is not frozen, so nothing can be cached.
    """
    spec = spec_of(recorded.training[0].observation)
    trunk = trunk_of(spec, agent.encoder)
    if trunk is None:
        raise ValueError(f"encoder {agent.encoder.kind!r} is trained: nothing of it is cached")
    key, dim = jax.random.PRNGKey(seed), action_dim(recorded.training)
    fresh: SACAgent = EncodingAgent.beside(key, spec, dim, agent, trunk)
    plain = as_plain(fresh)
    _, online = hold(recorded.held_out, with_crops(agent, 1), plain)
    held = HeldOut(online, recorded.held_out, plain)
    widest = hold(recorded.training, with_crops(agent, max(crops)), plain)
    for count in crops:
        yield {"crops": str(count), **_train(plain, _narrowed(widest, count), held, budget)}
    del widest
    yield {
        "crops": FRESH,
        **_train(fresh, hold(recorded.training, as_raw(agent), plain), held, budget),
    }


def with_crops(config: SACConfig, crops: int) -> SACConfig:
    """The same agent with so many cached crops of each frame."""
    return replace(config, encoder=replace(config.encoder, crops=crops))


def as_raw(config: SACConfig) -> SACConfig:
    """With an encoder for which replay keeps the images themselves."""
    raw = replace(config.encoder, kind="small", weights="", weights_sha256="")
    return replace(config, encoder=raw)


def hold(records: Sequence[Record], config: SACConfig, agent: SACAgent) -> Rings:
    """Replay of these records, prior and online half, as a learner so configured holds it."""
    spec = spec_of(records[0].observation)
    each = FrameEncoder(spec, config.encoder).layout.frame_bytes
    demonstrated = sum(record.source == Source.DEMO for record in records)
    prior, online = (
        int(_ROOM * count + 8) * each for count in (demonstrated, len(records) - demonstrated)
    )
    limits = LearnerConfig(agent=config, prior_bytes=prior, replay_bytes=online)
    learner = Learner(limits, spec, action_dim(records), 0, agent)
    for record in records:
        learner.add(record)
    return learner.prior, learner.online


def action_dim(records: Sequence[Record]) -> int:
    """Size of the actions of episodes."""
    return next(len(record.action) for record in records if record.action is not None)


def as_plain(agent: SACAgent) -> SACAgent:
    """The same parameters in an agent that takes feature maps."""
    return SACAgent(**{name: getattr(agent, name) for name in SACAgent.__dataclass_fields__})


def _narrowed(rings: Rings, crops: int) -> Rings:
    """With the first crops of each frame only: which those are does not depend on how many."""
    first, second = (
        ring.replace(frames={k: leaf[:, :crops] for k, leaf in (ring.frames or {}).items()})
        for ring in rings
    )
    return first, second


def _train(agent: SACAgent, rings: Rings, held: HeldOut, budget: Budget) -> Result:
    """Trains a copy of the agent; its figures at the end, and those on the way."""
    agent = jax.tree.map(jnp.copy, agent)  # an update takes what it gets
    blocks = budget.updates // budget.utd_ratio
    points, fastest = [], float("inf")
    metrics: Mapping[str, Any] = {}
    for block in range(1, blocks + 1):
        began = time.perf_counter()
        agent, metrics = update_high_utd(
            agent, *rings, utd_ratio=budget.utd_ratio, batch_size=budget.batch_size
        )
        jax.block_until_ready(agent)
        fastest = min(fastest, time.perf_counter() - began)
        if block % (blocks // LOOKS) == 0:
            point = {"updates": block * budget.utd_ratio, **held.judge(as_plain(agent))}
            points.append(point | {"training_td_error": float(metrics["critic_loss"])})
    return {**points[-1], "s_per_update": fastest / budget.utd_ratio, "points": points}


def table(results: Sequence[Result]) -> str:
    """As Markdown."""
    columns = ("training_td_error", "td_error", "q_error", "s_per_update")
    heads = ("crops", "TD error, training", "TD error, held out", "Q error, held out")
    rows = [(r["crops"], *(f"{r[name]:.3g}" for name in columns)) for r in results]
    return markdown((*heads, "s per critic update"), rows)


def main() -> None:
    """Compares as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="pcb", help="name or YAML file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--demos", type=int, default=10, help="to learn from (default 10)")
    parser.add_argument("--steps", type=int, default=500, help="of the noisy expert (default 500)")
    parser.add_argument("--held-out", type=int, default=8, help="noisy episodes (default 8)")
    parser.add_argument("--noise", type=float, default=0.4, help="of its actions (default 0.4)")
    parser.add_argument("--crops", type=int, nargs="+", default=[1, 2, 4, 16], metavar="K")
    parser.add_argument("--updates", type=int, default=Budget.updates)
    parser.add_argument("--batch-size", type=int, default=Budget.batch_size)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    budget = Budget(updates=given.updates, batch_size=given.batch_size)
    setup = load_setup(given.task, graph.Arguments(seed=given.seed, observation="image"))
    recorded = record_both(setup, given.demos, given.steps, given.held_out, given.noise)
    setup.client.close()
    print(f"{len(recorded.training)} records, {len(recorded.held_out)} held out", flush=True)
    results = []
    for result in compare(recorded, setup.learner.agent, budget, given.crops, given.seed):
        results.append(result)
        print(f"{result['crops']} crops: Q error {result['q_error']:.3g}", flush=True)
    print(table(results))
    content = {"seed": given.seed, "records": len(recorded.training), "noise": given.noise}
    content |= {"demonstrations": given.demos, "held_out_records": len(recorded.held_out)}
    write_json(given.json, {**content, "batch_size": budget.batch_size, "results": results})


if __name__ == "__main__":
    main()
