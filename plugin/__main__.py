"""The host that the engine starts: it serves the components of the clouds whose SDKs are installed."""

from pulumi.provider.experimental import component_provider_host

from gpufabric import __version__
from gpufabric.hosted import installed_components

if __name__ == "__main__":
    component_provider_host(installed_components(), "gpufabric", version=__version__)
