"""MuJoCo in place of the robot: scene, lockstep simulation and a scripted expert."""
