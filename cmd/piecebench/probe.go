package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"piecebench/internal/ending"
	"piecebench/piece/bytesize"
	"piecebench/probe"
)

func probeCommand() *cobra.Command {
	var o probe.Options
	var maxBytes, header string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "probe URL [CID]",
		Short: "Say what a piece server looks like to clients and checkers; no lab, no root",
		Long: `Ask a piece server a few small questions, and say what its answers mean to clients
and to the checkers that measure storage providers. The probe only reads.

URL is http(s)://host/piece/{piece}, where {piece} stands for the piece CID v1, or the URL of
one piece; {piece_v2} stands for the v2. CID is of a piece that the server has, v1 or v2. A
user and password in URL are sent as a header. They, the values of a query and the headers
of --header appear in no output.

  pass  as it should be
  warn  some clients stumble over it
  fail  it breaks the standard or a checker      exit code 1
  skip  does not apply, or could not be checked

Bad input, or a server that does not answer: exit code 2.`,
		Example: "  piecebench probe 'https://host/piece/{piece}' baga6ea4seaq...",
		Args:    cobra.RangeArgs(1, 2),
	}
	cmd.Flags().StringVar(&maxBytes, "max-bytes", "64MiB", "how much to read at most")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 10*time.Second, "how long to wait for each answer")
	addServerFlags(cmd, &header, &o.Insecure)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		o.URL = args[0]
		if len(args) > 1 {
			o.CID = args[1]
		}
		if o.MaxBytes, err = bytesize.Parse(maxBytes); err != nil {
			return fmt.Errorf("--max-bytes: %w", err)
		}
		if o.Header, err = readHeader(header); err != nil {
			return err
		}
		ctx, stop := ending.Context(cmd.Context())
		defer stop()
		fmt.Fprintln(cmd.ErrOrStderr(), probe.Bound(o))
		report, err := probe.Run(ctx, o)
		if err != nil {
			return err
		}
		if asJSON {
			e := json.NewEncoder(cmd.OutOrStdout())
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			err = e.Encode(report)
		} else {
			err = probe.Write(cmd.OutOrStdout(), report)
		}
		if n := report.Count(probe.Fail); err == nil && n > 0 {
			return problem{fmt.Errorf("%d of %d checks fail", n, len(report.Findings))}
		}
		return err
	}
	return cmd
}
