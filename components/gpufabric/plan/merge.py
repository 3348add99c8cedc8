"""Merge wishes into a pod that somebody else wrote: structure only, conflicts are errors, opaque values stay untouched."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

_SNAKE = {
    "nodeSelector": "node_selector",
    "initContainers": "init_containers",
    "volumeMounts": "volume_mounts",
    "mountPath": "mount_path",
    "mountPropagation": "mount_propagation",
    "readOnly": "read_only",
    "emptyDir": "empty_dir",
    "hostPath": "host_path",
    "persistentVolumeClaim": "persistent_volume_claim",
    "claimName": "claim_name",
    "restartPolicy": "restart_policy",
    "startupProbe": "startup_probe",
    "periodSeconds": "period_seconds",
    "failureThreshold": "failure_threshold",
    "resourceClaims": "resource_claims",
    "resourceClaimTemplateName": "resource_claim_template_name",
    "preStop": "pre_stop",
    "terminationGracePeriodSeconds": "termination_grace_period_seconds",
    "securityContext": "security_context",
    "nodeAffinity": "node_affinity",
    "requiredDuringSchedulingIgnoredDuringExecution": "required_during_scheduling_ignored_during_execution",
    "nodeSelectorTerms": "node_selector_terms",
    "matchExpressions": "match_expressions",
}


class ProfileConflictError(ValueError):
    """The pod already says something else. The message has the path, both values and what to do."""

    def __init__(self, path: str, theirs: object, ours: object) -> None:
        super().__init__(f"{path}: the pod says {_said(theirs)}, the profile needs {_said(ours)}; remove it from the pod")


class Merge:
    """One merge. ``result`` is the copy; every method adds one kind of thing to it or raises :class:`ProfileConflictError`."""

    def __init__(self, result: dict[str, Any], template: dict[str, Any], path: str, container: str | None) -> None:
        self.result, self._template = result, template
        self._is_object = path.startswith("spec.")  # a whole Job, which has metadata beside its spec
        bare = not isinstance(template.get("spec"), dict)
        self._pod: dict[str, Any] = template if bare else template["spec"]
        self._at_template = f"{path}." if path else ""
        self._at_pod = self._at_template if bare else f"{self._at_template}spec."
        self._snake = _writes_snake_case(result)
        self._container = self._choose(container)
        self._at_container = f"{self._at_pod}containers[{self._container.get('name', 0)}]."

    @classmethod
    def of(cls, spec: Mapping[str, Any], container: str | None = None) -> Self:
        """Find the pod in ``spec``: below ``spec`` and ``template`` at any depth, or ``spec`` itself."""
        here = result = _copy(spec)
        if not isinstance(result, dict):
            raise TypeError(f"a profile merges into plain dicts, not into {type(spec).__name__}; pass the spec as a dict")
        path: list[str] = []
        while "containers" not in here and not (isinstance(here.get("spec"), dict) and "containers" in here["spec"]):
            step = next((key for key in ("spec", "template") if isinstance(here.get(key), dict)), None)
            if step is None:
                break
            here = here[step]
            path.append(step)
        return cls(result, here, ".".join(path), container)

    def resources(self, limits: Mapping[str, str]) -> None:
        """Device-plugin resources are limits; Kubernetes takes the requests from them, and refuses others."""
        if limits:
            path = f"{self._at_container}resources"
            where = self._child(self._container, "resources", path)
            self._put(self._child(where, "limits", f"{path}.limits"), limits, f"{path}.limits", as_text=True)
            if isinstance(where.get("requests"), dict):
                asked = {key: value for key, value in limits.items() if key in where["requests"]}
                self._put(where["requests"], asked, f"{path}.requests", as_text=True)
            if any(key.startswith("hugepages-") for key in limits):
                self._ask_for_cpu(where, f"{path}.requests")

    def _ask_for_cpu(self, resources: dict[str, Any], path: str) -> None:
        """Kubernetes refuses huge pages in a container that asks for neither cpu nor memory."""
        requests = self._child(resources, "requests", path)
        if not {"cpu", "memory"} & {*requests, *resources["limits"]}:
            requests["cpu"] = "1"

    def environment(self, variables: Mapping[str, str]) -> None:
        """Environment of the container; a variable with the same name and value is already there."""
        if not variables:
            return
        path = f"{self._at_container}env"
        env = self._list(self._container, "env", path)
        present = {item["name"]: item for item in env if isinstance(item, dict) and isinstance(item.get("name"), str)}
        for name, value in variables.items():
            ours = {"name": name, "value": value}
            if name not in present:
                env.append(ours)
            elif present[name] != ours:
                theirs = present[name]["value"] if present[name].keys() == ours.keys() else present[name]
                raise ProfileConflictError(f"{path}[{name}]", theirs, value)

    def capabilities(self, names: Iterable[str]) -> None:
        """Linux capabilities of the container."""
        if names := list(names):
            path = f"{self._at_container}securityContext"
            context = self._child(self._container, self._key(self._container, "securityContext"), path)
            capabilities = self._child(context, "capabilities", f"{path}.capabilities")
            added = self._list(capabilities, "add", f"{path}.capabilities.add")
            added.extend(name for name in names if name not in added)

    def annotations(self, annotations: Mapping[str, str]) -> None:
        """Annotations of the pod template."""
        if annotations:
            if self._template is self._pod:
                raise TypeError(
                    "annotations belong to a pod template; pass the template or the Job spec, not the bare pod spec"
                )
            path = f"{self._at_template}metadata"
            metadata = self._child(self._template, "metadata", path)
            self._put(self._child(metadata, "annotations", f"{path}.annotations"), annotations, f"{path}.annotations")

    def job_labels(self, labels: Mapping[str, str]) -> None:
        """Labels of the Job itself."""
        if labels:
            if not self._is_object:
                raise TypeError(
                    f"{', '.join(labels)} is a label of the Job, not of its spec or pod; "
                    'pass the Job whole, {"metadata": {...}, "spec": {...}}, and use both parts of what comes back'
                )
            metadata = self._child(self.result, "metadata", "metadata")
            self._put(self._child(metadata, "labels", "metadata.labels"), labels, "metadata.labels")

    def one_annotation_of(self, family: Iterable[str], key: str, value: str) -> None:
        """An annotation of the pod template that excludes the others of its family."""
        self.annotations({key: value})
        annotations = self._template["metadata"]["annotations"]
        for other in family:
            if other != key and other in annotations:
                path = f"{self._at_template}metadata.annotations"
                raise ProfileConflictError(f"{path}[{other}]", annotations[other], f"{key}: {value}")

    def tolerations(self, tolerations: Iterable[Mapping[str, str]]) -> None:
        """Taints that the pod tolerates."""
        for toleration in tolerations:
            present = self._list(self._pod, "tolerations", f"{self._at_pod}tolerations")
            if toleration not in present:
                present.append(dict(toleration))

    def volume(self, volume: Mapping[str, Any], *, mount_path: str | None, **how: Any) -> None:
        """A volume of the pod and, where a path is given, its mount in the container; ``how``: more keys of the mount."""
        name = volume["name"]
        path = f"{self._at_pod}volumes"
        self._put_named(self._list(self._pod, "volumes", path), volume, path)
        if mount_path is None:
            return
        path = f"{self._at_container}volumeMounts"
        mounts = self._list(self._container, self._key(self._container, "volumeMounts"), path)
        for mount in mounts:
            if isinstance(mount, dict) and mount.get(self._key(mount, "mountPath")) == mount_path and mount.get("name") != name:
                raise ProfileConflictError(f"{path}[{mount_path}]", mount.get("name"), name)
        self._put_named(mounts, {"name": name, "mountPath": mount_path, **how}, path)

    def pre_stop(self, hook: Mapping[str, Any]) -> None:
        """What the container does before it is ended from outside."""
        path = f"{self._at_container}lifecycle"
        lifecycle = self._child(self._container, "lifecycle", path)
        key = self._key(lifecycle, "preStop")
        if lifecycle.get(key, hook) != hook:
            raise ProfileConflictError(f"{path}.preStop", lifecycle[key], hook)
        lifecycle[key] = hook

    def grace_seconds(self, least: int) -> None:
        """The time that the pod has to end; a longer one stays."""
        key = self._key(self._pod, "terminationGracePeriodSeconds")
        theirs = self._pod.get(key)
        if theirs is not None and (not isinstance(theirs, int) or theirs < least):
            raise ProfileConflictError(f"{self._at_pod}terminationGracePeriodSeconds", theirs, f"at least {least}")
        self._pod.setdefault(key, least)

    def first_init_container(self, container: Mapping[str, Any]) -> None:
        """An init container before all others: what it finds must be known before anything of the job runs."""
        path = f"{self._at_pod}initContainers"
        containers = self._list(self._pod, self._key(self._pod, "initContainers"), path)
        before = len(containers)
        self._put_named(containers, container, path)
        if len(containers) > before:
            containers.insert(0, containers.pop())

    def claim(self, name: str, template: str) -> None:
        """Devices by dynamic resource allocation: a claim of the pod, made from a template, that the container uses."""
        path = f"{self._at_pod}resourceClaims"
        claims = self._list(self._pod, self._key(self._pod, "resourceClaims"), path)
        self._put_named(claims, {"name": name, "resourceClaimTemplateName": template}, path)
        path = f"{self._at_container}resources"
        used = self._list(self._child(self._container, "resources", path), "claims", f"{path}.claims")
        self._put_named(used, {"name": name}, f"{path}.claims")

    def command_prefix(self, prefix: Iterable[str]) -> None:
        """What runs before the container's own command and hands on to it."""
        prefix, path = list(prefix), f"{self._at_container}command"
        command = self._container.get("command")
        if not isinstance(command, list) or not command:
            raise TypeError(
                f"{path}: the fabric's environment comes from {prefix[-1]}, which has to run before your command; "
                "write the command as a plain list, the entrypoint of your image if it has one"
            )
        if command[: len(prefix)] != prefix:
            self._container["command"] = [*prefix, *command]

    def node_selector(self, labels: Mapping[str, str]) -> None:
        """Labels that the node must have."""
        path = f"{self._at_pod}nodeSelector"
        self._put(self._child(self._pod, self._key(self._pod, "nodeSelector"), path), labels, path)

    def require_node_label(self, key: str, value: str) -> None:
        """A required node affinity: added to every alternative that is there, since alternatives are ORed."""
        path = f"{self._at_pod}affinity"
        inside = self._child(self._pod, "affinity", path)
        for step in ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"):
            path = f"{path}.{step}"
            inside = self._child(inside, self._key(inside, step), path)
        path = f"{path}.nodeSelectorTerms"
        terms = self._list(inside, self._key(inside, "nodeSelectorTerms"), path)
        expression = {"key": key, "operator": "In", "values": [value]}
        if not terms:
            terms.append({})
        for term in terms:
            if not isinstance(term, dict):
                raise ProfileConflictError(path, term, expression)
            expressions = self._list(term, self._key(term, "matchExpressions"), f"{path}.matchExpressions")
            if expression not in expressions:
                expressions.append(dict(expression))

    def _choose(self, name: str | None) -> dict[str, Any]:
        containers = self._pod.get("containers")
        if not isinstance(containers, list) or not all(isinstance(c, dict) for c in containers) or not containers:
            found = "there is none" if containers is None else f"this is {_said(containers)}"
            raise TypeError(f"{self._at_pod}containers: a profile merges into a plain list of dicts; {found}")
        names = [str(c.get("name")) for c in containers]
        if name is None and len(containers) > 1:
            raise ValueError(f"{self._at_pod}containers: which of {', '.join(names)} uses the fabric? pass container=NAME")
        for candidate in containers:
            if name is None or candidate.get("name") == name:
                return candidate  # type: ignore[no-any-return]  # checked above
        raise ValueError(f"{self._at_pod}containers: no container named {name!r}; there are {', '.join(names)}")

    def _key(self, parent: Mapping[str, Any], camel: str) -> str:
        """The spelling of a key in ``parent``: the one that is there, else the one that the user writes elsewhere."""
        snake = _SNAKE[camel]
        if snake in parent or camel in parent:
            return snake if snake in parent else camel
        return snake if self._snake else camel

    def _child(self, parent: dict[str, Any], key: str, path: str) -> dict[str, Any]:
        if parent.get(key) is None:
            parent[key] = {}
        child = parent[key]
        if not isinstance(child, dict):
            raise TypeError(f"{path}: cannot merge into {_said(child)}; write it as a plain dict")
        return child

    def _list(self, parent: dict[str, Any], key: str, path: str) -> list[Any]:
        if parent.get(key) is None:
            parent[key] = []
        child = parent[key]
        if not isinstance(child, list):
            raise TypeError(f"{path}: cannot merge into {_said(child)}; write it as a plain list")
        return child

    def _put(self, into: dict[str, Any], values: Mapping[str, str], path: str, *, as_text: bool = False) -> None:
        for key, value in values.items():
            theirs = into.get(key)
            if theirs is not None and (str(theirs) if as_text and isinstance(theirs, int) else theirs) != value:
                raise ProfileConflictError(f"{path}[{key}]", theirs, value)
            into[key] = value

    def _put_named(self, items: list[Any], item: Mapping[str, Any], path: str) -> None:
        for theirs in items:
            if isinstance(theirs, dict) and theirs.get("name") == item["name"]:
                ours = self._spelled(item, theirs)
                if theirs != ours:
                    raise ProfileConflictError(f"{path}[{item['name']}]", theirs, ours)
                return
        items.append(self._spelled(item, {}))

    def _spelled(self, item: Mapping[str, Any], like: Any) -> dict[str, Any]:
        """The item in the spelling of what is there already, else in the user's."""
        like = like if isinstance(like, dict) else {}
        return {
            (at := self._key(like, key) if key in _SNAKE else key): self._spelled_value(value, like.get(at))
            for key, value in item.items()
        }

    def _spelled_value(self, value: Any, like: Any) -> Any:
        if isinstance(value, Mapping):
            return self._spelled(value, like)
        if isinstance(value, list):
            there = like if isinstance(like, list) and len(like) == len(value) else [None] * len(value)
            return [self._spelled_value(each, beside) for each, beside in zip(value, there, strict=True)]
        return value


def _copy(value: Any) -> Any:
    """Copy dicts and lists; everything else, Outputs included, is passed on as it is."""
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item) for item in value]
    return value


def _said(value: object) -> str:
    """A value in a message. An Output is not looked into: it has no value before it is deployed."""
    plain = value is None or isinstance(value, str | int | float | dict | list)
    return repr(value) if plain else f"a value that is no plain data ({type(value).__name__})"


def _writes_snake_case(value: Any) -> bool:
    """Whether the user wrote the SDK's snake_case anywhere: then what is added must be written so too, or a key comes twice."""
    if isinstance(value, dict):
        return any(key in _SNAKE.values() or _writes_snake_case(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_writes_snake_case, value))
