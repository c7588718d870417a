"""Pick and place: `ros2 launch serl_franka_bringup pick.launch.py seed:=1 roles:=robot`."""

from launch import LaunchDescription
from serl_franka_bringup.ros_launch import task_actions


def generate_launch_description() -> LaunchDescription:
    """The node graph of the task, as launch actions."""
    return LaunchDescription(task_actions("pick"))
