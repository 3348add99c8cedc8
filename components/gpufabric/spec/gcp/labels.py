"""Tags on Google Cloud: labels, which have a grammar of their own."""

from typing import Annotated

from gpufabric.spec.cloud.tags import tags_like

MOST_LABELS = 54
"""Google takes 64 labels on a resource (Resource Manager, Requirements for labels); ten are left for GKE's own."""
Labels = Annotated[
    dict[str, str],
    tags_like(
        r"[a-z][a-z0-9_-]{0,62}",
        r"[a-z0-9_-]{0,63}",
        most=MOST_LABELS,
        what="a label of Google Cloud",
        use="a-z, 0-9, _ and -, 63 each, and begin the key with a letter",
        own="goog",
        owner="Google",
    ),
]
