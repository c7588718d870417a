"""Composes the workspace's nodes into tasks and runs them."""
