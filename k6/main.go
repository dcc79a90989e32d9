// The piecebench k6: stock k6 with the retrieval extension and the Prometheus
// remote-write output linked in, as xk6 would build it.
package main

import (
	"go.k6.io/k6/cmd"

	_ "github.com/grafana/xk6-output-prometheus-remote"

	_ "piecebench/k6/x/retrieval"
)

func main() {
	cmd.Execute()
}
