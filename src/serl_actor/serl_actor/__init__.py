"""Acting: environment, interventions and rollout (no ROS), and the actor node."""
