"""Real nodes in a ROS domain of their own, driven by one executor until a condition holds."""

from __future__ import annotations

import pytest

from serl_controllers.ros_testing import Bench, own_domain
from serl_sim.gl_backend import GLError, use_backend


@pytest.fixture(scope="session")
def domain():
    with own_domain() as number:
        yield number


@pytest.fixture
def bench(domain):
    made = Bench(domain)
    yield made
    made.close()


@pytest.fixture(scope="session")
def draws():
    """Whether pictures can be drawn here."""
    try:
        use_backend()
    except GLError:
        return False
    return True
