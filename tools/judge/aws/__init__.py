"""AWS: botocore's service models, and how requests look on AWS's wires."""
