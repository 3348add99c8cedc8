"""An account of AWS as it answered: botocore checks every recorded answer, and every question, against AWS's own model."""

import copy
from collections import defaultdict
from typing import Any

import boto3  # type: ignore[import-untyped]
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from botocore.validate import validate_parameters

from gpufabric.preflight.aws_client import Aws

ACCOUNT = "123456789012"
CALLER = f"arn:aws:sts::{ACCOUNT}:assumed-role/ci/session"
MACHINE = {
    "InstanceType": "p5.48xlarge",
    "NetworkInfo": {"MaximumNetworkCards": 32, "EfaInfo": {"MaximumEfaInterfaces": 32}},
}
GOOD: dict[str, Any] = {
    "GetCallerIdentity": {"UserId": "A", "Account": ACCOUNT, "Arn": CALLER},
    "DescribeCluster": {"error": "ResourceNotFoundException"},
    "DescribeInstanceTypeOfferings": {
        "InstanceTypeOfferings": [
            {"InstanceType": "p5.48xlarge", "LocationType": "availability-zone", "Location": f"us-east-2{letter}"}
            for letter in "bc"
        ]
    },
    "DescribeInstanceTypes": {"InstanceTypes": [MACHINE]},
    "ListServiceQuotas": {"Quotas": [{"QuotaName": "Running On-Demand P instances", "Value": 768.0}]},
    "DescribeAvailabilityZones": {
        "AvailabilityZones": [{"ZoneName": f"us-east-2{letter}", "State": "available"} for letter in "abc"]
    },
}


class Account:
    """Answers by the operation's name; ``{"error": code}`` is an error. ``asked``: every operation, in order."""

    def __init__(self, **changes: Any) -> None:
        self.answers: dict[str, Any] = {**copy.deepcopy(GOOD), **changes}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._errors: dict[str, int] = defaultdict(int)

    def aws(self, region: str = "us-east-2") -> Aws:
        return Aws(region, self._client)

    def _client(self, service: str) -> Any:
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        client = boto3.client(service, region_name="us-east-2", **keys)
        client._make_api_call = lambda operation, words: self._answer(client, operation, words)
        return client

    def _answer(self, client: Any, operation: str, words: dict[str, Any]) -> Any:
        self.asked.append((operation, words))
        model = client.meta.service_model.operation_model(operation)
        validate_parameters(words, model.input_shape)
        answer = self.answers[operation]
        answer = answer(words) if callable(answer) else answer
        if "error" in answer:
            error = {"Code": answer["error"], "Message": answer.get("message", "no")}
            raise ClientError({"Error": error}, operation)
        Stubber(client)._validate_operation_response(model.name, answer)
        return answer
