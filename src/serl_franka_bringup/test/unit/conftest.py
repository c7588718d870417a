"""The launch files are tested where launch is installed: the ROS wheels lack it."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("launch_ros") else ["test_launch.py"]
