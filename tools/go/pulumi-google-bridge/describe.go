package main

import (
	"encoding/json"
	"os"

	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	shim "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim"
)

// property is what Pulumi sees of one field.
type property struct {
	Many  bool                `json:"many,omitempty"`
	Input bool                `json:"input,omitempty"`
	Inner map[string]property `json:"inner,omitempty"`
}

// describe prints {TOKEN: {PROPERTY: ...}} for the resources served: what the bridge calls each field.
func describe(info tfbridge.ProviderInfo) {
	all := map[string]map[string]property{}
	for name, resource := range info.Resources {
		all[string(resource.Tok)] = properties(info.P.ResourcesMap().Get(name).Schema(), resource.Fields)
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		fail("%v", err)
	}
}

func properties(fields shim.SchemaMap, overrides map[string]*tfbridge.SchemaInfo) map[string]property {
	found := map[string]property{}
	fields.Range(func(name string, field shim.Schema) bool {
		override := overrides[name]
		one := property{
			Many:  field.Type() != shim.TypeMap && (field.Type() == shim.TypeList || field.Type() == shim.TypeSet) && !tfbridge.IsMaxItemsOne(field, override),
			Input: field.Optional() || field.Required(),
		}
		if inner, ok := field.Elem().(shim.Resource); ok {
			var below map[string]*tfbridge.SchemaInfo
			if override != nil && override.Elem != nil {
				below = override.Elem.Fields
			}
			one.Inner = properties(inner.Schema(), below)
		}
		found[tfbridge.TerraformToPulumiNameV2(name, fields, overrides)] = one
		return true
	})
	return found
}
