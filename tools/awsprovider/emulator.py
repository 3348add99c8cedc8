"""moto's AWS on a port of this machine's loopback, behind the recorder."""

from typing import Any

from tools.awsprovider.recorder import Recorder
from tools.serving import Serving

REGION = "us-east-1"
# moto's, and that of the identity behind every key.
ACCOUNT = "123456789012"


class Emulator(Serving):
    """A context: serves from enter to exit. What it holds is in the memory of this process."""

    def __init__(self) -> None:
        from moto.core.config import default_user_config
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
        from werkzeug.serving import make_server

        default_user_config["iam"] = {"load_aws_managed_policies": True}

        class Quiet(MotoRequestHandler):
            def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - werkzeug's name
                """A line per request helps nobody: the recorder has them."""

        self.recorder = Recorder(DomainDispatcherApplication(create_backend_app))
        self._server = make_server("127.0.0.1", 0, self.recorder, threaded=True, request_handler=Quiet)

    @property
    def environment(self) -> dict[str, str]:
        """Sends every AWS SDK here, with keys that open nothing."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._server.server_port}",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }

    def reset(self) -> None:
        """An empty account and an empty recording."""
        from moto.core.base_backend import BackendDict

        BackendDict.reset()
        self.recorder.forget()
