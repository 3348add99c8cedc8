"""Merge wishes into a pod that somebody else wrote: structure only, conflicts are errors, opaque values stay untouched."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

_SNAKE = {
    "nodeSelector": "node_selector",
    "volumeMounts": "volume_mounts",
    "mountPath": "mount_path",
    "emptyDir": "empty_dir",
    "securityContext": "security_context",
    "nodeAffinity": "node_affinity",
    "requiredDuringSchedulingIgnoredDuringExecution": "required_during_scheduling_ignored_during_execution",
    "nodeSelectorTerms": "node_selector_terms",
    "matchExpressions": "match_expressions",
}


class ProfileConflictError(ValueError):
    """The pod already says something else. The message has the path, both values and what to do."""

    def __init__(self, path: str, theirs: object, ours: object) -> None:
        super().__init__(f"{path}: the pod says {theirs!r}, the profile needs {ours!r}; remove it from the pod")


class Merge:
    """One merge. ``result`` is the copy; every method adds one kind of thing to it or raises :class:`ProfileConflictError`."""

    def __init__(self, result: dict[str, Any], template: dict[str, Any], path: str, container: str | None) -> None:
        self.result, self._template, self._path = result, template, path
        self._pod: dict[str, Any] = template.get("spec", template)
        self._snake = _writes_snake_case(result)
        self._container = self._choose(container)

    @classmethod
    def of(cls, spec: Mapping[str, Any], container: str | None = None) -> Self:
        """Find the pod in ``spec``: below ``template`` (at any ``spec``), or ``spec`` itself."""
        result = _copy(spec)
        if not isinstance(result, dict):
            raise TypeError(f"a profile merges into plain dicts, not into {type(spec).__name__}; pass the spec as a dict")
        here, path = result, ""
        for step in ("spec", "template"):
            if isinstance(here.get(step), dict) and "containers" not in here:
                here, path = here[step], f"{path}.{step}".lstrip(".")
        return cls(result, here, path, container)

    def resources(self, limits: Mapping[str, str]) -> None:
        """Device-plugin resources are limits; Kubernetes takes the requests from them."""
        if limits:
            where = self._child(self._container, "resources", "containers.resources")
            self._put(
                self._child(where, "limits", "containers.resources.limits"), limits, "containers.resources.limits", as_text=True
            )

    def environment(self, variables: Mapping[str, str]) -> None:
        """Environment of the container; a variable with the same name and value is already there."""
        if not variables:
            return
        env = self._list(self._container, "env", "containers.env")
        present = {item["name"]: item for item in env if isinstance(item, dict) and "name" in item}
        for name, value in variables.items():
            if name not in present:
                env.append({"name": name, "value": value})
            elif present[name].get("value") != value:
                raise ProfileConflictError(self._at(f"containers.env[{name}]"), present[name].get("value"), value)

    def capabilities(self, names: Iterable[str]) -> None:
        """Linux capabilities of the container."""
        if names := list(names):
            context = self._child(self._container, self._key("securityContext"), "containers.securityContext")
            added = self._list(self._child(context, "capabilities", "containers.securityContext.capabilities"), "add", "add")
            added.extend(name for name in names if name not in added)

    def annotations(self, annotations: Mapping[str, str]) -> None:
        """Annotations of the pod template."""
        if annotations:
            if self._template is self._pod:
                raise TypeError(
                    "annotations belong to a pod template; pass the template or the Job spec, not the bare pod spec"
                )
            metadata = self._child(self._template, "metadata", "metadata")
            self._put(self._child(metadata, "annotations", "metadata.annotations"), annotations, "metadata.annotations")

    def tolerations(self, tolerations: Iterable[Mapping[str, str]]) -> None:
        """Taints that the pod tolerates."""
        for toleration in tolerations:
            present = self._list(self._pod, "tolerations", "tolerations")
            if toleration not in present:
                present.append(dict(toleration))

    def volume(self, volume: Mapping[str, Any], *, mount_path: str) -> None:
        """A volume of the pod and its mount in the container."""
        name, path_key = volume["name"], self._key("mountPath")
        volumes = self._list(self._pod, "volumes", "volumes")
        self._put_named(volumes, {k if k == "name" else self._key(k): v for k, v in volume.items()}, "volumes")
        mounts = self._list(self._container, self._key("volumeMounts"), "containers.volumeMounts")
        for mount in mounts:
            if isinstance(mount, dict) and mount.get(path_key) == mount_path and mount.get("name") != name:
                raise ProfileConflictError(self._at(f"containers.volumeMounts[{mount_path}]"), mount.get("name"), name)
        self._put_named(mounts, {"name": name, path_key: mount_path}, "containers.volumeMounts")

    def node_selector(self, labels: Mapping[str, str]) -> None:
        """Labels that the node must have."""
        self._put(self._child(self._pod, self._key("nodeSelector"), "nodeSelector"), labels, "nodeSelector")

    def require_node_label(self, key: str, value: str) -> None:
        """A required node affinity: added to every alternative that is there, since alternatives are ORed."""
        path = "affinity.nodeAffinity"
        affinity = self._child(self._child(self._pod, "affinity", "affinity"), self._key("nodeAffinity"), path)
        required = self._child(affinity, self._key("requiredDuringSchedulingIgnoredDuringExecution"), path)
        terms = self._list(required, self._key("nodeSelectorTerms"), path)
        expression = {"key": key, "operator": "In", "values": [value]}
        for term in terms or [{}]:
            if not isinstance(term, dict):
                raise ProfileConflictError(self._at(path), term, expression)
            expressions = self._list(term, self._key("matchExpressions"), path)
            if expression not in expressions:
                expressions.append(expression)
            if term not in terms:
                terms.append(term)

    def _choose(self, name: str | None) -> dict[str, Any]:
        containers = self._pod.get("containers")
        if not isinstance(containers, list) or not all(isinstance(c, dict) for c in containers) or not containers:
            raise TypeError(
                f"{self._at('containers')}: a profile merges into a plain list of containers; this is {containers!r}"
            )
        names = [str(c.get("name")) for c in containers]
        if name is None and len(containers) > 1:
            raise ValueError(f"{self._at('containers')}: which of {', '.join(names)} uses the fabric? pass container=NAME")
        for candidate in containers:
            if name is None or candidate.get("name") == name:
                return candidate  # type: ignore[no-any-return]  # checked above
        raise ValueError(f"{self._at('containers')}: no container named {name!r}; there are {', '.join(names)}")

    def _key(self, camel: str) -> str:
        return _SNAKE.get(camel, camel) if self._snake else camel

    def _at(self, path: str) -> str:
        return f"{self._path}.{path}".lstrip(".")

    def _child(self, parent: dict[str, Any], key: str, path: str) -> dict[str, Any]:
        child = parent.setdefault(key, {})
        if not isinstance(child, dict):
            raise TypeError(f"{self._at(path)}: cannot merge into {type(child).__name__}; write it as a plain dict")
        return child

    def _list(self, parent: dict[str, Any], key: str, path: str) -> list[Any]:
        child = parent.setdefault(key, [])
        if not isinstance(child, list):
            raise TypeError(f"{self._at(path)}: cannot merge into {type(child).__name__}; write it as a plain list")
        return child

    def _put(self, into: dict[str, Any], values: Mapping[str, str], path: str, *, as_text: bool = False) -> None:
        for key, value in values.items():
            theirs = into.get(key)
            if theirs is not None and (str(theirs) if as_text and isinstance(theirs, int) else theirs) != value:
                raise ProfileConflictError(self._at(f"{path}[{key}]"), theirs, value)
            into[key] = value

    def _put_named(self, items: list[Any], item: dict[str, Any], path: str) -> None:
        for theirs in items:
            if isinstance(theirs, dict) and theirs.get("name") == item["name"]:
                if theirs != item:
                    raise ProfileConflictError(self._at(f"{path}[{item['name']}]"), theirs, item)
                return
        items.append(item)


def _copy(value: Any) -> Any:
    """Copy dicts and lists; everything else, Outputs included, is passed on as it is."""
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item) for item in value]
    return value


def _writes_snake_case(value: Any) -> bool:
    """Whether the user wrote the SDK's snake_case anywhere: then what is added must be written so too, or a key comes twice."""
    if isinstance(value, dict):
        return any(key in _SNAKE.values() or _writes_snake_case(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_writes_snake_case, value))
