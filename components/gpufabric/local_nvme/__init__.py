"""What runs on a node whose local NVMe disks become one file system: the script that may format, the agent that tells the size.

Standard library and POSIX shell only; shipped by ConfigMap. ``contract`` holds the words that they and the plans share.
"""
