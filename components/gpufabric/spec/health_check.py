"""The wish for node health alone, without a network run, in an organisation's own stack."""

from typing import Annotated, Literal

from pydantic import Field

from gpufabric.spec.base import Namespace, WholeNumber, Wish
from gpufabric.spec.node_group import Image, NodeGroupSpec
from gpufabric.spec.validation import Minutes


class HealthCheckSpec(Wish):
    """The nodes to look at, and what to make of what is found."""

    node_group: NodeGroupSpec
    """The group whose nodes are looked at. ``profile.image``, if given, is the image that reads; it may lack Python."""
    image: Image
    """The gate's own image, pinned, with Python 3.11: it judges, and reads unless the profile names another image."""
    health: dict[str, Literal["fatal", "warning", "ignore"]] = Field(default_factory=dict)
    """How bad a finding is, as in ``validation.health``. Default: the table's severities."""
    dcgm_level: Annotated[WholeNumber, Field(ge=1, le=3)] = 1
    """Level of ``dcgmi diag``, as in ``validation.dcgm_level``."""
    run: Annotated[WholeNumber, Field(ge=1, le=1_000_000)] = 1
    """Raise it to look again."""
    start_minutes: Minutes = 15
    """How long image pull and start may take, and busy devices to become free, minutes."""
    namespace: Namespace | None = None
    """An existing namespace to run in. Default: one of its own, ``gpufabric-<stack>-<group>-health``."""
