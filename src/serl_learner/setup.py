"""Installs the package."""

from setuptools import find_packages, setup

PACKAGE = "serl_learner"

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
    description="Learning: agents, replay, parameter codec, episode log, and the learner node.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "learner_node = serl_learner.learner_node:main",
            "reward_classifier_node = serl_learner.reward_classifier_node:main",
            "metrics_writer_node = serl_learner.metrics_writer_node:main",
        ]
    },
)
