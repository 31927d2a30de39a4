"""Estimates that are refined until they are accurate enough."""
