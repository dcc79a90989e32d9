// The piecebench k6: stock k6 with the retrieval extension and the Prometheus
// remote-write output linked in, as xk6 would build it.
package main

import (
	"os"
	"runtime/debug"

	"go.k6.io/k6/cmd"

	_ "github.com/grafana/xk6-output-prometheus-remote"

	_ "piecebench/k6/x/retrieval"
)

func main() {
	// 1000 VUs hold 90 MB of JavaScript state, to which Go's default adds as
	// much again before it collects. Requests allocate little, so collecting
	// twice as often costs nothing measurable.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	cmd.Execute()
}
