"""Rewards learned from images: a classifier of camera frames, its training and its file."""
