"""Decisions for Google Cloud: from the wish to networks, clusters, node pools and storage, as values."""
