"""Impedance control of an arm: its values, conversions, and the law bound to MuJoCo."""
