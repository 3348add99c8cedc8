"""GPU training clusters as Pulumi components. Importing this package loads neither Pulumi nor a cloud's SDK.

The rooms, from the inside out (imports point inward only):

* ``gpufabric.hardware``: what is known about machines and fabrics, with sources.
* ``gpufabric.spec``: what a user may ask for.
* ``gpufabric.plan``: what will be built, decided by pure functions.
* ``gpufabric.kubernetes`` and one package per cloud: Pulumi components.
* ``gpufabric.validation``: the programs that run inside the cluster.
* ``gpufabric.report``: verdicts as one HTML page.
* ``gpufabric.cli``: the command line.
"""

__version__ = "0.1.0"
