"""Which image runs where: coordinator and judge in the gate's own, the ranks in the group's or the stack's rank image."""

from gpufabric.hardware import find_image, nccl_tests_images
from gpufabric.plan.fabric import GroupFabric
from gpufabric.spec import NodeGroupSpec, Problem, ValidationSpec


def rank_image(fabric: GroupFabric, wish: ValidationSpec) -> str:
    """Where the ranks run: what the group says, else what is said for all groups, else the table's or the gate's own image."""
    return fabric.rank_image or wish.rank_image or fabric.table_image or wish.image or ""


def unpinned(path: str, image: str | None) -> list[Problem]:
    """An image whose name does not say which one it is."""
    if image and (image.endswith(":latest") or (":" not in image.rpartition("/")[2] and "@" not in image)):
        reason = f"{image} is not pinned: what was validated must be what runs again"
        return [Problem(path, reason, "add a version tag (not latest) or a digest")]
    return []


def image_problems(group: NodeGroupSpec, wish: ValidationSpec, path: str) -> list[Problem]:
    """Missing, floating or unfit images. The gate's own is always needed: coordinator and judge run in it."""
    problems = []
    if wish.image is None:
        fix = "name the gate's image (python3 -m tools.image howto says how to build one and load or push it)"
        problems.append(Problem("validation.image", "missing: coordinator and judge run in it", fix))
    where, of_ranks = "validation.rank_image", wish.rank_image
    if group.profile and group.profile.image:
        where, of_ranks = f"{path}.profile.image", group.profile.image
    if wish.backend == "torch" and of_ranks is None:
        reason = "missing: the torch backend measures in the image that your jobs run in"
        problems.append(Problem(where, reason, "name that image, with its tag or digest"))
    for at, image in (("validation.image", wish.image), (where, of_ranks)):
        problems += unpinned(at, image)
    known = find_image(wish.image or "")
    if known and known.python_3_11 is False:
        reason = f"{wish.image} has no Python 3.11: coordinator and judge run in it"
        fix = "name an image that has it, and write this one as validation.rank_image"
        problems.append(Problem("validation.image", reason, fix, str(known.provenance)))
    from_table = group.machine_type is not None  # a machine's fabric brings its image
    known = find_image(of_ranks or ("" if from_table else wish.image) or "")
    if wish.backend == "nccl" and known and known.sshd is False:
        reason = f"{of_ranks or wish.image} has no sshd: mpirun starts the ranks of the nccl backend over ssh"
        having = ", ".join(sorted(name for name, row in nccl_tests_images().items() if row.sshd and row.mpirun))
        fix = f"build one from it with the package openssh-server, or name an image that has it ({having})"
        problems.append(Problem(where if of_ranks else "validation.image", reason, fix, str(known.provenance)))
    return problems
