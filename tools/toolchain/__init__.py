"""Pinned programs for machines that reach package registries and nothing else: built once, cached, found on PATH."""
