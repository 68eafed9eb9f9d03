package main

import (
	_ "embed"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

//go:embed schema.json
var schemaJSON []byte

// attribute is one attribute as Terraform prints it.
type attribute struct {
	Type       json.RawMessage `json:"type"`
	NestedType *struct {
		Attributes  map[string]attribute `json:"attributes"`
		NestingMode string               `json:"nesting_mode"`
	} `json:"nested_type"`
	Required  bool `json:"required"`
	Optional  bool `json:"optional"`
	Computed  bool `json:"computed"`
	Sensitive bool `json:"sensitive"`
	WriteOnly bool `json:"write_only"`
}

func readSchema() map[string]attribute {
	var block struct {
		Attributes map[string]attribute `json:"attributes"`
	}
	if err := json.Unmarshal(schemaJSON, &block); err != nil {
		panic(err)
	}
	return block.Attributes
}

func convertAll(in map[string]attribute) map[string]schema.Attribute {
	out := map[string]schema.Attribute{}
	for name, a := range in {
		out[name] = convert(a)
	}
	return out
}

func convert(a attribute) schema.Attribute {
	if a.NestedType != nil {
		nested := convertAll(a.NestedType.Attributes)
		switch a.NestedType.NestingMode {
		case "list":
			return schema.ListNestedAttribute{NestedObject: schema.NestedAttributeObject{Attributes: nested}, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly}
		case "set":
			return schema.SetNestedAttribute{NestedObject: schema.NestedAttributeObject{Attributes: nested}, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive}
		case "map":
			return schema.MapNestedAttribute{NestedObject: schema.NestedAttributeObject{Attributes: nested}, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly}
		}
		return schema.SingleNestedAttribute{Attributes: nested, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly, PlanModifiers: []planmodifier.Object{objectplanmodifier.UseStateForUnknown()}}
	}
	var name string
	if json.Unmarshal(a.Type, &name) == nil {
		switch name {
		case "bool":
			return schema.BoolAttribute{Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly, PlanModifiers: []planmodifier.Bool{boolplanmodifier.UseStateForUnknown()}}
		case "number":
			return schema.Int64Attribute{Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly, PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()}}
		}
		return schema.StringAttribute{Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
	}
	var compound []json.RawMessage
	if err := json.Unmarshal(a.Type, &compound); err != nil {
		panic(err)
	}
	json.Unmarshal(compound[0], &name)
	element := elementType(compound[1])
	switch name {
	case "map":
		return schema.MapAttribute{ElementType: element, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly}
	case "set":
		return schema.SetAttribute{ElementType: element, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive}
	}
	return schema.ListAttribute{ElementType: element, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly}
}

func elementType(raw json.RawMessage) attr.Type {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		switch name {
		case "bool":
			return types.BoolType
		case "number":
			return types.Int64Type
		}
	}
	return types.StringType
}
