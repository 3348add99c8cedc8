"""Google Cloud's names and ids, checked by shape: the cloud would say it after minutes."""

from typing import Annotated

from gpufabric.spec.base import matching

_REGION = r"[a-z]+-[a-z]+[0-9]{1,2}"
_ZONE = rf"{_REGION}-(ai[0-9])?[a-z]"
_PROJECT = r"[a-z][a-z0-9-]{4,28}[a-z0-9]"
_NAME = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"  # RFC 1035, as Compute Engine has it
Region = Annotated[str, matching(_REGION, "a region of Google Cloud", "us-central1")]
Zone = Annotated[str, matching(_ZONE, "the name of a zone", "us-central1-a")]
ProjectId = Annotated[str, matching(_PROJECT, "the id of a project (not its number or title)", "acme-training")]
ResourceName = Annotated[str, matching(_NAME, "a name of Compute Engine (1 to 63 of a-z, 0-9 and -)", "training")]
# A path where the network is another project's: Shared VPC.
NetworkName = Annotated[
    str,
    matching(
        rf"(projects/{_PROJECT}/global/networks/)?{_NAME}",
        "the name of a VPC, or its path where another project owns it",
        "training, or projects/acme-net/global/networks/training",
    ),
]
SubnetworkName = Annotated[
    str,
    matching(
        rf"(projects/{_PROJECT}/regions/{_REGION}/subnetworks/)?{_NAME}",
        "the name of a subnet, or its path where another project owns it",
        "nodes, or projects/acme-net/regions/us-central1/subnetworks/nodes",
    ),
]
ClusterName = Annotated[
    str, matching(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", "the name of a GKE cluster (1 to 40 of a-z, 0-9 and -)", "training")
]
# No dots, though Cloud Storage takes them: such a name is a domain whose owner has to be proved.
BucketName = Annotated[
    str,
    matching(
        r"(?!goog)(?!.*g[o0]{2}gle)[a-z0-9][a-z0-9_-]{1,61}[a-z0-9]",
        "the name of a bucket (3 to 63 of a-z, 0-9, - and _; not goog... or with google in it)",
        "acme-weights",
    ),
]
IamMember = Annotated[
    str,
    matching(
        r"(user|group|serviceAccount):[A-Za-z0-9._%+'-]{1,64}@[A-Za-z0-9.-]{1,189}|principal(Set)?://iam\.googleapis\.com/[!-~]{1,400}",
        "a member of an IAM policy",
        "group:ml-platform@example.com",
    ),
]
ReservationId = Annotated[
    str,
    matching(
        rf"(projects/{_PROJECT}/reservations/)?{_NAME}",
        "the name of a reservation, or its path where another project shares it",
        "training, or projects/acme-capacity/reservations/training",
    ),
]
NetworkProfile = Annotated[str, matching(rf"{_ZONE}-[a-z]+(-[a-z]+)*", "a network profile", "us-central1-a-vpc-roce")]
