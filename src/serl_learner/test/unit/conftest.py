"""The tests compile many small networks and run each a few times: XLA need not optimise them."""

from __future__ import annotations

import os

FLAGS = "--xla_backend_optimization_level=0 --xla_cpu_multi_thread_eigen=false"

# Before anything imports JAX: XLA reads its flags once.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}".strip()

# Where a compilation cache is set up, the short compilations of these tests are worth keeping too.
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
