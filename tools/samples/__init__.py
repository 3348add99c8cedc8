"""The sample stacks of this repository, run by the real engine through a cloud's own provider."""
