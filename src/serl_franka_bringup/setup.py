"""Installs the package; `launch` and `config` here are links to the workspace's own."""

from glob import glob

from setuptools import find_packages, setup

PACKAGE = "serl_franka_bringup"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test", "test.*"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        (f"share/{PACKAGE}/launch", sorted(glob("launch/*.launch.py"))),
        (f"share/{PACKAGE}/config", sorted(glob("config/*.yaml") + glob("config/*.rviz"))),
        (f"share/{PACKAGE}/urdf", sorted(glob("urdf/*.xacro"))),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="SERL ROS maintainers",
    maintainer_email="maintainers@serl-ros.dev",
    description="Node graph of each task and the supervisor that runs it without ros2 launch.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "serl = serl_franka_bringup.cli:main",
            "markers_node = serl_franka_bringup.markers_node:main",
            "arm_manager_node = serl_franka_bringup.arm_manager_node:main",
        ]
    },
)
