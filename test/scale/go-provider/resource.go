package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	providerschema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

type peer struct{}

func newProvider() provider.Provider { return peer{} }

type client struct{ endpoint, key string }

func (peer) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName = "peer"
}
func (peer) Schema(_ context.Context, _ provider.SchemaRequest, r *provider.SchemaResponse) {
	r.Schema = providerschema.Schema{Attributes: map[string]providerschema.Attribute{
		"endpoint": providerschema.StringAttribute{Optional: true},
		"api_key":  providerschema.StringAttribute{Optional: true, Sensitive: true},
	}}
}
func (peer) Configure(ctx context.Context, q provider.ConfigureRequest, r *provider.ConfigureResponse) {
	var config struct {
		Endpoint types.String `tfsdk:"endpoint"`
		Key      types.String `tfsdk:"api_key"`
	}
	r.Diagnostics.Append(q.Config.Get(ctx, &config)...)
	r.ResourceData = &client{config.Endpoint.ValueString(), config.Key.ValueString()}
}
func (peer) DataSources(context.Context) []func() datasource.DataSource { return nil }
func (peer) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &repository{} }}
}

type repository struct{ client *client }

func (*repository) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "peer_repository"
}
func (*repository) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: convertAll(readSchema())}
}
func (r *repository) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if q.ProviderData != nil {
		r.client = q.ProviderData.(*client)
	}
}

// Read fetches the object and lays its spec, status and head over the state, as the provider under test does.
func (r *repository) Read(ctx context.Context, q resource.ReadRequest, s *resource.ReadResponse) {
	var id types.String
	s.Diagnostics.Append(q.State.GetAttribute(ctx, path.Root("id"), &id)...)
	object, err := r.client.get("/v1/repositories/" + id.ValueString())
	if err != nil {
		s.Diagnostics.AddError("read", err.Error())
		return
	}
	flat := map[string]any{"status": object["status"]}
	for _, key := range []string{"id", "uid", "generation", "version", "createdAt"} {
		flat[key] = object[key]
	}
	for key, value := range object["spec"].(map[string]any) {
		flat[key] = value
	}
	state := map[string]tftypes.Value{}
	q.State.Raw.As(&state)
	typ := q.State.Raw.Type().(tftypes.Object)
	for name, prior := range state {
		if value, found := flat[camel(name)]; found {
			state[name] = toValue(typ.AttributeTypes[name], value)
		} else {
			state[name] = prior
		}
	}
	s.State.Raw = tftypes.NewValue(typ, state)
}

func (r *repository) Create(_ context.Context, _ resource.CreateRequest, s *resource.CreateResponse) {
	s.Diagnostics.AddError("peer", "the benchmark only plans")
}
func (r *repository) Update(_ context.Context, _ resource.UpdateRequest, s *resource.UpdateResponse) {
	s.Diagnostics.AddError("peer", "the benchmark only plans")
}
func (r *repository) Delete(_ context.Context, _ resource.DeleteRequest, s *resource.DeleteResponse) {
	s.Diagnostics.AddError("peer", "the benchmark only plans")
}

func (c *client) get(path string) (map[string]any, error) {
	request, err := http.NewRequest("GET", strings.TrimRight(c.endpoint, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		return nil, fmt.Errorf("GET %s: %s", path, response.Status)
	}
	var object map[string]any
	return object, json.NewDecoder(response.Body).Decode(&object)
}

// toValue turns JSON into a Terraform value of the wanted type; what JSON lacks is null.
func toValue(typ tftypes.Type, value any) tftypes.Value {
	if value == nil {
		return tftypes.NewValue(typ, nil)
	}
	switch t := typ.(type) {
	case tftypes.Object:
		in, out := value.(map[string]any), map[string]tftypes.Value{}
		for name, inner := range t.AttributeTypes {
			out[name] = toValue(inner, in[camel(name)])
		}
		return tftypes.NewValue(t, out)
	case tftypes.List:
		out := []tftypes.Value{}
		for _, item := range value.([]any) {
			out = append(out, toValue(t.ElementType, item))
		}
		return tftypes.NewValue(t, out)
	case tftypes.Set:
		out := []tftypes.Value{}
		for _, item := range value.([]any) {
			out = append(out, toValue(t.ElementType, item))
		}
		return tftypes.NewValue(t, out)
	case tftypes.Map:
		out := map[string]tftypes.Value{}
		for key, item := range value.(map[string]any) {
			out[key] = toValue(t.ElementType, item)
		}
		return tftypes.NewValue(t, out)
	}
	if number, ok := value.(float64); ok {
		return tftypes.NewValue(typ, big.NewFloat(number))
	}
	return tftypes.NewValue(typ, value)
}

func camel(name string) string {
	parts := strings.Split(name, "_")
	for i := 1; i < len(parts); i++ {
		parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
	}
	return strings.Join(parts, "")
}
