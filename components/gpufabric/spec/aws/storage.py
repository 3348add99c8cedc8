"""Buckets and file systems on AWS."""

from typing import Annotated

from pydantic import Field

from gpufabric.spec.base import WholeNumber, Wish


class AwsStoreSpec(Wish):
    """A bucket, named once; roles refer to it."""

    name: str
    """Name of the bucket, unique in all of AWS."""
    existing: bool = False
    """The bucket exists. Default: false, it is made."""


class AwsFilesystemSpec(Wish):
    """A file system of Amazon FSx for Lustre."""

    size_gib: Annotated[WholeNumber, Field(ge=1200)]
    """Size in GiB, from 1,200; the legal sizes depend on throughput and EFA."""
    throughput_mbytes_per_s_per_tib: WholeNumber = 250
    """Throughput in MB/s per TiB: 125, 250, 500 or 1,000. Default: 250."""
