"""Recorded data: bags read, checked, shown, brought in and out. No ROS."""
