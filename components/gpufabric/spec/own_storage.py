"""Wishes about what a cluster of one's own can keep files in. All of it exists; nothing of it is made."""

from typing import Annotated

from pydantic import Field

from gpufabric.spec.base import WholeNumber
from gpufabric.spec.mounts import BucketAccess, BucketSpec
from gpufabric.spec.shared_filesystem import FilesystemSource


class OwnStoreSpec(BucketSpec, BucketAccess):
    """One bucket that exists; roles of ``storage`` refer to it by its key under ``stores``."""


class OwnFilesystemSpec(FilesystemSource):
    """One shared file system that exists: its key is the name of a claim (ReadWriteMany) in the namespace of the jobs.

    With ``nfs`` or ``csi`` the stack makes the claim, in the namespace ``default``; else the claim exists, too.
    """

    size_gib: Annotated[WholeNumber, Field(ge=1, le=100_000_000)] | None = None
    """What it holds, 1 to 100,000,000 GiB: whether a role fits. Default: not known."""
