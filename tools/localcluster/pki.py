"""Certificates of one cluster: a CA and one key pair per role, made by openssl when first asked for."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path

from tools.localcluster.commands import run

# Longer than any local cluster lives; an expired certificate would be a riddle.
DAYS = "3650"
CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc")


@dataclass(frozen=True)
class Pki:
    """The folder with keys and certificates, and the API server they are for."""

    folder: Path
    server: str

    @property
    def ca(self) -> Path:
        """Certificate of the CA."""
        return self.folder / "ca.crt"

    def key(self, name: str) -> Path:
        """Private key of a role."""
        return self.folder / f"{name}.key"

    def certificate(self, name: str) -> Path:
        """Certificate of a role."""
        return self.folder / f"{name}.crt"

    def ensure_ca(self, common_name: str) -> None:
        """The CA, and the key that signs service-account tokens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._issue(
            "ca", common_name, "", ("basicConstraints=critical,CA:TRUE", "keyUsage=keyCertSign,digitalSignature"), signed=False
        )
        if not self.key("sa").exists():
            unfinished = self.folder / "sa.key.new"
            # SEC 1 format, the only one of an EC private key from which the API server takes the public half.
            run("openssl", "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", str(unfinished))
            unfinished.chmod(0o600)
            unfinished.rename(self.key("sa"))

    def ensure(self, name: str, common_name: str, organization: str = "", alternative_names: tuple[str, ...] = ()) -> None:
        """A pair for client and server use, signed by the CA."""
        extensions = ["basicConstraints=CA:FALSE", "extendedKeyUsage=serverAuth,clientAuth"]
        if alternative_names:
            extensions.append(f"subjectAltName={','.join(alternative_names)}")
        self._issue(name, common_name, organization, tuple(extensions), signed=True)

    def kubeconfig(self, name: str, context: str) -> str:
        """A self-contained kubeconfig (JSON, which is YAML too) for a role."""
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": context,
                "clusters": [
                    {"name": context, "cluster": {"server": self.server, "certificate-authority-data": _base64(self.ca)}}
                ],
                "users": [
                    {
                        "name": name,
                        "user": {
                            "client-certificate-data": _base64(self.certificate(name)),
                            "client-key-data": _base64(self.key(name)),
                        },
                    }
                ],
                "contexts": [{"name": context, "context": {"cluster": context, "user": name}}],
            },
            indent=1,
        )

    def _issue(self, name: str, common_name: str, organization: str, extensions: tuple[str, ...], signed: bool) -> None:
        if self.certificate(name).exists():
            return
        subject = f"CN={common_name}" + (f"\nO={organization}" if organization else "")
        config = self.folder / f"{name}.cnf"
        config.write_text(
            "[req]\nprompt=no\ndistinguished_name=subject\nx509_extensions=extensions\n"
            f"[subject]\n{subject}\n[extensions]\n" + "\n".join(extensions) + "\n"
        )
        signer = ("-CA", str(self.ca), "-CAkey", str(self.key("ca"))) if signed else ()
        unfinished = self.folder / f"{name}.crt.new"  # renamed last: a certificate in place has its key
        run(
            *("openssl", "req", "-x509", "-days", DAYS, "-config", str(config), *CURVE),
            *("-keyout", str(self.key(name)), "-out", str(unfinished), *signer),
        )
        unfinished.rename(self.certificate(name))
        config.unlink()


def _base64(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
