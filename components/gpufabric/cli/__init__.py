"""The command line: ``gpufabric check``, ``explain``, ``preflight``, ``nccl parse``."""

from gpufabric.cli.app import main

__all__ = ["main"]
