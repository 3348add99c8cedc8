"""What a machine without Pulumi or a cluster needs: pinned builds, a language host, the gate image, a local cluster.

Everything here runs on the Python standard library alone, because it runs before a virtual environment exists.
"""
