// Vault in development mode: in memory, unsealed, with a known root token, as `vault server -dev`. It is Vault's own core and
// HTTP handler with four kinds of plugin; the whole program would be built from every cloud's and database's libraries.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"

	log "github.com/hashicorp/go-hclog"
	kubernetes "github.com/hashicorp/vault-plugin-auth-kubernetes"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	"github.com/hashicorp/vault/builtin/credential/approle"
	"github.com/hashicorp/vault/builtin/credential/userpass"
	"github.com/hashicorp/vault/command/server"
	"github.com/hashicorp/vault/helper/namespace"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

func main() {
	address := flag.String("listen", "127.0.0.1:0", "address to listen on")
	token := flag.String("token", "", "the root token")
	flag.Parse()
	if err := serve(*address, *token); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address, token string) error {
	logger := log.New(&log.LoggerOptions{Level: log.Warn, Output: os.Stderr})
	storage, err := inmem.NewInmem(nil, logger)
	if err != nil {
		return err
	}
	auth := map[string]logical.Factory{"approle": approle.Factory, "kubernetes": kubernetes.Factory, "userpass": userpass.Factory}
	secrets := map[string]logical.Factory{"kv": kv.Factory}
	core, err := vault.NewCore(&vault.CoreConfig{
		RawConfig:          &server.Config{SharedConfig: &configutil.SharedConfig{}},
		Physical:           storage,
		StorageType:        "inmem",
		Logger:             logger,
		DisableMlock:       true,
		BuiltinRegistry:    registry{consts.PluginTypeCredential: auth, consts.PluginTypeSecrets: secrets},
		LogicalBackends:    secrets,
		CredentialBackends: auth,
	})
	if err != nil {
		return err
	}
	if err := open(core, token); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("listening on %s\n", listener.Addr())
	handler := vaulthttp.Handler.Handler(&vault.HandlerProperties{Core: core, ListenerConfig: &configutil.Listener{Address: address}})
	return http.Serve(listener, handler)
}

// registry tells the core which plugins are part of the program.
type registry map[consts.PluginType]map[string]logical.Factory

func (r registry) Contains(name string, kind consts.PluginType) bool {
	_, ok := r[kind][name]
	return ok
}

func (r registry) Get(name string, kind consts.PluginType) (func() (interface{}, error), bool) {
	factory, ok := r[kind][name]
	return func() (interface{}, error) { return factory, nil }, ok
}

func (r registry) Keys(kind consts.PluginType) []string {
	return slices.Sorted(maps.Keys(r[kind]))
}

func (r registry) DeprecationStatus(name string, kind consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, r.Contains(name, kind)
}

func (r registry) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }

// open initializes and unseals it, and replaces the root token by the one that was asked for.
func open(core *vault.Core, token string) error {
	ctx := namespace.ContextWithNamespace(context.Background(), namespace.RootNamespace)
	made, err := core.Initialize(ctx, &vault.InitParams{BarrierConfig: &vault.SealConfig{SecretShares: 1, SecretThreshold: 1}})
	if err != nil {
		return err
	}
	if _, err := core.Unseal(made.SecretShares[0]); err != nil {
		return err
	}
	ask := func(path string, data map[string]interface{}) error {
		answer, err := core.HandleRequest(ctx, &logical.Request{
			Operation: logical.UpdateOperation, ClientToken: made.RootToken, Path: path, Data: data,
		})
		if err == nil && answer.IsError() {
			err = answer.Error()
		}
		return err
	}
	if token != "" {
		data := map[string]interface{}{"id": token, "policies": []string{"root"}, "no_parent": true, "no_default_policy": true}
		if err := ask("auth/token/create", data); err != nil {
			return err
		}
	}
	mount := map[string]interface{}{"type": "kv", "path": "secret/", "options": map[string]string{"version": "2"}}
	if err := ask("sys/mounts/secret", mount); err != nil {
		return err
	}
	return ask("auth/token/revoke-self", nil)
}
