"""Tags of AWS."""

from typing import Annotated

from gpufabric.spec.cloud.tags import tags_like

MOST_TAGS = 40
"""AWS takes 50 tags on a resource (EC2 user guide, Tag your resources); ten are left for names and for AWS's own."""
Tags = Annotated[
    dict[str, str],
    tags_like(
        r"[\w.:/=+\-@ ]{1,128}",
        r"[\w.:/=+\-@ ]{0,256}",
        most=MOST_TAGS,
        what="a tag",
        use="letters, digits, spaces and .:/=+-@_ (128 and 256)",
        own="aws:",
        owner="AWS",
    ),
]
