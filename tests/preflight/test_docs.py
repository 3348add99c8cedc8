"""The page lists every permission that a preflight asks for, and none else."""

import json
import re
from pathlib import Path

from gpufabric.preflight import aws_client, gcp_client

PAGE = (Path(__file__).parents[2] / "docs" / "preflight.md").read_text("utf-8")


def test_the_policy_of_aws_is_what_is_asked() -> None:
    (policy,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (statement,) = json.loads(policy)["Statement"]
    assert statement["Action"] == list(aws_client.PERMISSIONS)


def test_the_role_of_google_is_what_is_asked() -> None:
    (role,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert re.findall(r"^- (\S+)$", role, re.MULTILINE) == list(gcp_client.PERMISSIONS)
