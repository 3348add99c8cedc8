"""Names that storage of every cloud refers to."""

import re
from typing import Annotated

from gpufabric.spec.base import DNS_LABEL, Wish, matching

_NAME = re.compile(rf"(?=.{{1,63}}$){DNS_LABEL.pattern}")
Name = Annotated[str, matching(_NAME, "a Kubernetes name: 1 to 63 of a-z, 0-9 and -, beginning with a letter", "weights")]
StoreKey = Annotated[
    str, matching(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}", "the key of a bucket (1 to 40 letters, digits, - and _)", "weights")
]


class ServiceAccountRef(Wish):
    """A Kubernetes service account."""

    namespace: Name
    """Namespace of the service account."""
    name: Name
    """Name of the service account."""
