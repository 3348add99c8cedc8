"""What runs inside the cluster: the gate that measures the all-reduce before the first job.

Standard library only (`mpi_allreduce` also imports mpi4py, `torch_allreduce` torch); imports nothing from the other gpufabric
packages; shipped by ConfigMap to `/gate/lib/gpufabric/validation/` and started with `PYTHONPATH=/gate/lib`, where `gpufabric`
is a namespace package.

Who does what (formats, paths, names: `contract`):

- `coordinator` (the Job that Pulumi follows; our image; service account with a token): checks the nodes, closes them, makes
  the rank Job, follows it, runs pairs of nodes where that did not pass (`pairs`, by the rules of `localise`), labels the nodes,
  writes the verdict ConfigMap, and repeats the verdict as its termination message. Exit 0 pass or pending, 2 fail, 3 unknown.
- `controller` (a Deployment, where the gate is kept running; our image; an account of its own): does for single nodes that
  come later what the coordinator does for a group. Decides in `controller_decide`.
- `rank.sh` (container `rank`, vendor or user image, POSIX sh, no token): `health.sh`, the node's own ranks, then the group's
  run by `rank_ssh.sh` (key, sshd, mpirun) or `rank_torch.sh` (`torch_launch`). Writes `health/`, `inside/`, `output`, `error`
  and, last, `exit-code` to `/gate/shared`.
- `sidecar` (container `judge` beside each rank, our image, no token): judges the node's health (`health`) and its own ranks
  (`inside`) and lets nobody in on a node that is not fit; hands the public key round; on index 0 judges the output. Leaves a
  `Measurement` as its termination message.

Environment of `rank` and `judge`: `contract.rank_environment`, plus JOB_COMPLETION_INDEX (from Kubernetes); of a pair's also
GATE_RANKS, since gate.json speaks of the whole group.
Volumes: `/gate/shared` (emptyDir, both), `/gate/key` (memory emptyDir, rank only), `/gate/lib` (ConfigMap, all), `/gate/plan`
(ConfigMap, judge, coordinator and controller). GATE_ROOT replaces `/gate` (tests).
"""
