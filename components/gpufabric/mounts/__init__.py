"""What runs in the cluster for a mounted bucket: the mount itself, the agent that watches it, and the flush barrier.

Standard library and POSIX shell only; shipped by ConfigMap. ``contract`` holds the words that they and the plans share.
"""
