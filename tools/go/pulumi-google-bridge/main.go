// Google's own Terraform provider behind Pulumi's bridge, under the names of pulumi-gcp.
//
// pulumi-gcp is made of the same code (its beta form) with the same bridge. Which types are served, and under which of
// pulumi-gcp's names, is told by the environment: GPUFABRIC_GOOGLE_NAMES holds {"resources": {TERRAFORM: TOKEN},
// "functions": {...}, "beta": {TERRAFORM: {FIELD: TYPE}}} as JSON (tools/googleprovider/names.toml), so that another type
// needs no other build.
//
// With GPUFABRIC_GOOGLE_APIS (http://127.0.0.1:PORT) every API of Google is looked for there, the API's own host name as the
// first part of the path, and nothing is waited for longer than a tenth of a second at a time.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-provider-google/google/provider"
	"github.com/hashicorp/terraform-provider-google/google/registry"
	"github.com/hashicorp/terraform-provider-google/google/transport"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	shimv2 "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim/sdk-v2"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

// version is what the Python package pulumi-gcp announces; stamped by tools/programs.toml.
var version = "0.0.0"

const pollInterval = 100 * time.Millisecond

type names struct {
	Resources map[string]string `json:"resources"`
	Functions map[string]string `json:"functions"`
	// Beta fields by their dotted paths: the released provider takes them and does not send them.
	Beta map[string]map[string]string `json:"beta"`
}

func main() {
	known := readNames()
	google := provider.Provider()
	keep(google.ResourcesMap, known.Resources)
	keep(google.DataSourcesMap, known.Functions)
	for name, fields := range known.Beta {
		for path, kind := range fields {
			accept(google.ResourcesMap[name], name, strings.Split(path, "."), kind)
		}
	}
	if apis := os.Getenv("GPUFABRIC_GOOGLE_APIS"); apis != "" {
		redirect(google, apis)
	}
	info := bridged(google, known)
	if len(os.Args) == 2 && os.Args[1] == "describe" {
		describe(info)
		return
	}
	tfbridge.Main("gcp", version, info, []byte("{}"))
}

func readNames() names {
	var known names
	if err := json.Unmarshal([]byte(os.Getenv("GPUFABRIC_GOOGLE_NAMES")), &known); err != nil {
		fail("GPUFABRIC_GOOGLE_NAMES: %v", err)
	}
	return known
}

// keep drops what has no name: the bridge looks at every schema when it starts.
func keep(all map[string]*schema.Resource, wanted map[string]string) {
	for name := range wanted {
		if all[name] == nil {
			fail("Google's provider has no %s", name)
		}
	}
	for name := range all {
		if wanted[name] == "" {
			delete(all, name)
		}
	}
}

// accept adds a field that the released provider lacks. Nobody reads it back, hence no difference in it counts.
func accept(resource *schema.Resource, name string, path []string, kind string) {
	for _, step := range path[:len(path)-1] {
		if field := resource.Schema[step]; field == nil {
			fail("%s has no %s", name, step)
		} else {
			resource = field.Elem.(*schema.Resource)
		}
	}
	kinds := map[string]schema.ValueType{"string": schema.TypeString, "bool": schema.TypeBool, "int": schema.TypeInt}
	resource.Schema[path[len(path)-1]] = &schema.Schema{
		Type: kinds[kind], Optional: true,
		DiffSuppressFunc: func(_, _, _ string, _ *schema.ResourceData) bool { return true },
	}
}

func bridged(google *schema.Provider, known names) tfbridge.ProviderInfo {
	info := tfbridge.ProviderInfo{
		P: shimv2.NewProvider(google), Name: "gcp", Version: version, ResourcePrefix: "google",
		Resources:   map[string]*tfbridge.ResourceInfo{},
		DataSources: map[string]*tfbridge.DataSourceInfo{},
		// The settings that pulumi-gcp has under other names.
		Config: map[string]*tfbridge.SchemaInfo{
			"add_terraform_attribution_label":               {Name: "addPulumiAttributionLabel"},
			"terraform_attribution_label_addition_strategy": {Name: "pulumiAttributionLabelAdditionStrategy"},
		},
	}
	for name, token := range known.Resources {
		info.Resources[name] = &tfbridge.ResourceInfo{Tok: tokens.Type(token)}
		if google.ResourcesMap[name].SchemaMap()["terraform_labels"] != nil {
			info.Resources[name].Fields = map[string]*tfbridge.SchemaInfo{"terraform_labels": {Name: "pulumiLabels"}}
		}
	}
	for name, token := range known.Functions {
		info.DataSources[name] = &tfbridge.DataSourceInfo{Tok: tokens.ModuleMember(token)}
	}
	info.SetAutonaming(255, "-")
	return info
}

// redirect sends all of the provider's requests to a stand-in of Google's APIs.
func redirect(google *schema.Provider, apis string) {
	moved := func(url string) string { return strings.Replace(url, "https://", strings.TrimSuffix(apis, "/")+"/", 1) }
	for _, product := range registry.ListProducts() {
		os.Setenv(product.CustomEndpointEnvVar, moved(product.BaseUrl))
	}
	configure := google.ConfigureContextFunc
	google.ConfigureContextFunc = func(ctx context.Context, data *schema.ResourceData) (any, diag.Diagnostics) {
		made, problems := configure(ctx, data)
		if config, ok := made.(*transport.Config); ok {
			config.PollInterval = pollInterval
			for _, batcher := range []*transport.RequestBatcher{config.RequestBatcherIam, config.RequestBatcherServiceUsage} {
				batcher.SendAfter = pollInterval
			}
		}
		return made, problems
	}
}

func fail(format string, words ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", words...)
	os.Exit(2)
}
