"""pulumi-aws's names for Terraform's resources, and what the bridge calls them."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Names:
    """``resources`` and ``functions``: pulumi-aws's token -> Terraform's name. ``named``: token -> the property to name."""

    resources: dict[str, str]
    functions: dict[str, str]
    named: dict[str, str]

    @property
    def of_terraform(self) -> list[str]:
        """All of Terraform's names: the bridge is told to know no others."""
        return sorted({*self.resources.values(), *self.functions.values()})

    def of_bridge(self, token: str) -> str:
        """What the bridge calls a resource; raises ``KeyError``. Providers keep their name."""
        if token.startswith("pulumi:"):
            return token
        camel = _camel(self.resources[token])
        return f"aws:index/{camel}:{camel[0].upper()}{camel[1:]}"

    def function_of_bridge(self, token: str) -> str:
        """What the bridge calls a function; raises ``KeyError``."""
        camel = _camel(self.functions[token])
        name = f"get{camel[0].upper()}{camel[1:]}"
        return f"aws:index/{name}:{name}"

    def urn_of_bridge(self, urn: str) -> str:
        """A URN with the bridge's name at the end of its type; what stands before it are parents."""
        *before, types, name = urn.split("::")
        *parents, token = types.split("$")
        return "::".join([*before, "$".join([*parents, self.of_bridge(token)]), name])


def read_names() -> Names:
    """The rows of names.toml."""
    rows = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
    return Names(rows["resources"], rows["functions"], rows["named"])


def _camel(name: str) -> str:
    first, *rest = name.removeprefix("aws_").split("_")
    return first + "".join(word.capitalize() for word in rest)
