"""Exact sampling: noise laws, noise in bulk, choices, the Laplace path."""
