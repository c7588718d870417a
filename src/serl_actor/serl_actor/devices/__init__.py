"""Devices of operators: what they say, without ROS."""
