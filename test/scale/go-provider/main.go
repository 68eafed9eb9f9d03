// The peer of the provider benchmark: the same resource schema, served by terraform-plugin-framework.
//
// It reads the schema of one resource from the JSON that `terraform providers schema -json` prints, so that both sides have the
// same attributes by construction, and does what the benchmark needs: plan a create, and read an object for a plan with state.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

func main() {
	debug := flag.Bool("debug", false, "serve for a debugger")
	flag.Parse()
	err := providerserver.Serve(context.Background(), newProvider, providerserver.ServeOpts{
		Address:         "registry.terraform.io/outpost/peer",
		Debug:           *debug,
		ProtocolVersion: 6,
	})
	if err != nil {
		log.Fatal(err)
	}
}
