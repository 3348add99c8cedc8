"""The gate image (Open MPI, ssh, Python) and the pause image, as docker archives made without Docker."""
