// The Pulumi Kubernetes provider for machines that cannot download the released plugin.
//
// The module's own main needs files that its release process generates. The provider itself is a library: given a
// name, a version and a schema it serves. The programs of this repository bring their types in the Python SDK, so no
// call ever asks this process for its schema, and an empty one keeps the binary 20 MB smaller.
package main

import "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"

// version is what the Python package pulumi-kubernetes announces; stamped by tools/programs.toml.
var version = "0.0.0"

func main() { provider.Serve("kubernetes", version, []byte("{}"), []byte("{}")) }
