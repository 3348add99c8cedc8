"""A kubeconfig without a credential: it asks the cloud's command line for a token whenever it is used."""

import json
from collections.abc import Sequence


def kubeconfig(name: str, server: str, authority: str | None, *, command: str, hint: str, args: Sequence[str] = ()) -> str:
    """As JSON, for one cluster. ``authority``: the API's certificate authority in base64; None where a public one signed.

    ``command`` prints a token as an ExecCredential; ``hint`` is what kubectl says where it is not installed.
    """
    token = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": command,
        **({"args": list(args)} if args else {}),
        "installHint": hint,
        "interactiveMode": "Never",
    }
    cluster = {"server": server, **({"certificate-authority-data": authority} if authority else {})}
    held = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"exec": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(held, sort_keys=True)
