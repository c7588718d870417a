"""Installs the package."""

from setuptools import find_packages, setup

PACKAGE = "serl_actor"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test", "test.*"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="SERL ROS maintainers",
    maintainer_email="maintainers@serl-ros.dev",
    description="The acting side: environment, interventions, rollout, job, and the actor node.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "actor_node = serl_actor.actor_node:main",
            "gamepad_node = serl_actor.gamepad_node:main",
            "keyboard_node = serl_actor.keyboard_node:main",
            "spacemouse_node = serl_actor.spacemouse_node:main",
        ]
    },
)
