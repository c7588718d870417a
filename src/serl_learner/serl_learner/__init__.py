"""Learning: types, networks, agents and replay (no ROS), and the learner node."""
