"""A reading client of AWS: one question at a time, and every refusal in our words. boto3 is imported when first asked."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from gpufabric.preflight.questions import UnansweredError, not_allowed
from gpufabric.spec import Problem, SpecError

PERMISSIONS = (
    "sts:GetCallerIdentity",
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeSecurityGroupRules",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcAttribute",
    "eks:DescribeAddon",
    "eks:DescribeCluster",
    "eks:ListAddons",
    "eks:ListPodIdentityAssociations",
    "fsx:DescribeFileSystems",
    "s3:ListBucket",
    "servicequotas:ListServiceQuotas",
)
"""All that a preflight asks for; it changes nothing. HeadBucket is allowed by ``s3:ListBucket``."""

_IAM_NAMES = {"service-quotas": "servicequotas"}
_IAM_ACTIONS = {"HeadBucket": "ListBucket"}
_REFUSED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "Client.UnauthorizedOperation", "403")
_NO_BOTO3 = Problem("", "boto3 is not installed, and only it can ask AWS", "pip install 'gpufabric[aws-preflight]'")


class AwsError(UnansweredError):
    """AWS answered a question with an error. ``code`` is AWS's word for it, ``permission`` what the question needs."""

    def __init__(self, code: str, message: str, permission: str) -> None:
        self.code, self.message = code, message
        refused = not_allowed(permission) if code in _REFUSED else None
        reason = refused.reason if refused else f"AWS refused {permission}: {message} ({code})"
        super().__init__(reason, refused.fix if refused else "repair that, and look again")


class Aws:
    """One region of one account. ``client``: makes the client of a service; default boto3's with the usual credentials."""

    def __init__(self, region: str, client: Callable[[str], Any] | None = None) -> None:
        self.region = region
        self._make = client
        self._clients: dict[str, Any] = {}

    def ask(self, service: str, operation: str, **words: Any) -> Mapping[str, Any]:
        """One call, such as ``ask("ec2", "DescribeSubnets", SubnetIds=[...])``, all pages together.

        Raises AwsError for an answer that is an error, SpecError where no answer can be had at all.
        """
        permission = f"{_IAM_NAMES.get(service, service)}:{_IAM_ACTIONS.get(operation, operation)}"
        errors = self._botocore.exceptions
        try:
            return self._called(self._client(service), operation, words)
        except errors.ClientError as error:
            said = error.response.get("Error", {})
            raise AwsError(str(said.get("Code", "")), str(said.get("Message", "")), permission) from None
        except (errors.NoCredentialsError, errors.PartialCredentialsError):
            fix = "log in (aws sso login), or set AWS_PROFILE"
            raise SpecError([Problem("", "no credentials of AWS were found", fix)]) from None
        except errors.BotoCoreError as error:
            raise SpecError(
                [Problem("", f"AWS does not answer in {self.region}: {error}", "check region and network")]
            ) from None

    def _called(self, client: Any, operation: str, words: Mapping[str, Any]) -> Mapping[str, Any]:
        name = self._botocore.xform_name(operation)
        if client.can_paginate(name):
            found: Mapping[str, Any] = client.get_paginator(name).paginate(**words).build_full_result()
        else:
            found = getattr(client, name)(**words)
        return found

    @cached_property
    def _botocore(self) -> Any:
        try:
            import botocore
            import botocore.exceptions
        except ImportError:
            raise SpecError([_NO_BOTO3]) from None
        return botocore

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = (self._make or self._boto3)(service)
        return self._clients[service]

    def _boto3(self, service: str) -> Any:
        try:
            import boto3  # type: ignore[import-untyped]
        except ImportError:
            raise SpecError([_NO_BOTO3]) from None
        return boto3.client(service, region_name=self.region)
