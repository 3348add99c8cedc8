"""A Kubernetes cluster with real pods on one Linux machine: every node is a set of namespaces, without Docker or an account."""
