"""The command line: ``gpufabric check``, ``explain``, ``preflight``, ``nccl parse``, ``report``, ``review``, ``validate``."""

from gpufabric.cli.app import main

__all__ = ["main"]
