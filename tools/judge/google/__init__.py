"""Google Cloud: the discovery documents that Google publishes, and how requests look on Google's wires."""
