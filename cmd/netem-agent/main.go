// Command netem-agent shapes a device's egress and serves the API to do so.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"piecebench/internal/ending"
	"piecebench/netem"
	"piecebench/netem/client"
	"piecebench/netem/stubstatus"
	"piecebench/version"
)

func main() {
	var o options
	command := &cobra.Command{
		Use:   "netem-agent --device DEVICE",
		Short: "Make a network device a link of a given rate, delay and loss",
		Long: `netem-agent shapes the egress of a device in its own network namespace, and
serves an API to set and measure the link (GET and PUT /link, PUT /lease, GET
/procs, /sockets, /blob, /metrics, /healthz). The link is none until it is set.
When a signal ends the agent, it restores the device. It also does so when the
lease of a link expires. If it is killed (SIGKILL), the traffic stays shaped or
stops: the next start restores everything, as does netem-agent --restore.

With ` + client.TokenVariable + ` in the environment, or ` + client.TokenFileVariable + ` with the name of a file, requests
need that token ("Authorization: Bearer TOKEN").`,
		Version:       version.String(),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.restore {
				return netem.Restore(os.Stderr)
			}
			if o.device == "" {
				return errors.New(`required flag(s) "device" not set: name the one to shape (ip link lists them)`)
			}
			ctx, stop := ending.Context(cmd.Context())
			defer stop()
			return o.run(ctx)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.device, "device", "", "device whose egress is shaped, by its name or an address of it (required)")
	flags.StringVar(&o.listen, "listen", ":9100", "address of the API")
	flags.StringVar(&o.backend, "backend", netem.Auto, "kernel (tc netem), userspace (delay line on the return path), or auto")
	flags.StringSliceVar(&o.ports, "ports", nil, "ports of the servers whose CPU time and memory /procs reports; PORT=COMMAND+COMMAND: also of processes of these commands")
	flags.StringVar(&o.nginxStatus, "nginx-status", "", "URL of nginx's stub_status page, whose figures /metrics then has too")
	flags.StringSliceVar(&o.names, "names", nil, "names of this host that the API's URLs may have, besides localhost and its addresses")
	flags.BoolVar(&o.restore, "restore", false, "undo what a killed agent has left in this network namespace, and do nothing else")
	flags.BoolVar(&o.logCommands, "log-commands", true, "write each command that changes something to stderr")
	if err := command.ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "netem-agent:", err)
		os.Exit(2)
	}
}

type options struct {
	device, listen, backend string
	ports                   []string
	nginxStatus             string
	names                   []string
	restore, logCommands    bool
}

func (o options) run(ctx context.Context) (err error) {
	var servers []netem.Server
	for _, text := range o.ports {
		s, err := netem.ParseServer(text)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	token, err := client.TakeToken()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("%w: choose another address with --listen", err)
	}
	defer listener.Close()

	log := io.Writer(os.Stderr)
	if !o.logCommands {
		log = io.Discard
	}
	agent, err := netem.Open(o.device, o.backend, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	if err := restoreAfterCrash(); err != nil {
		return err
	}
	var further []prometheus.Collector
	if o.nginxStatus != "" {
		further = append(further, stubstatus.NewCollector(o.nginxStatus))
	}
	handler, err := netem.Handler(agent, servers, further...)
	if err != nil {
		return err
	}
	guard := netem.Guard{Names: o.names, Token: token}
	server := &http.Server{Handler: guard.Wrap(handler), ReadHeaderTimeout: 10 * time.Second, ConnContext: netem.WithConnection}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	fmt.Fprintf(os.Stderr, "# netem-agent shapes %s, API on %s\n", o.device, listener.Addr())
	select {
	case <-ctx.Done():
		return server.Close()
	case err := <-failed:
		return err
	}
}
