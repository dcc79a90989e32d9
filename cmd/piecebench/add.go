package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piecebench/internal/ending"
	"piecebench/internal/headerfile"
	"piecebench/piece"
	"piecebench/piece/dataset"
	"piecebench/piece/piececid"
	"piecebench/piece/remote"
)

func datasetAdd(dir *string) *cobra.Command {
	var server remote.Options
	var a dataset.Addition
	var from, header string
	cmd := &cobra.Command{
		Use:   "add --url URL [CID...]",
		Short: "Adds pieces that a server has, without a copy of their bytes",
		Long: `Add pieces that a server has to a dataset, without a copy of their bytes. A run with
targets of your own can then measure them.

URL is http(s)://host/piece/{piece}, where {piece} stands for the piece CID v1, or has
{piece_v2} for the v2. CIDs are v1 or v2.

Sizes are asked for. With --verify, each piece is downloaded once, its piece CID is computed
from the bytes, and checksums are kept, with which runs verify answers (512 KiB for each GiB).
After an interruption the same command goes on where it was. Without --verify, nothing is
known of the bytes, and runs need VERIFY=0.

Exit code 1: a server has something else than what a CID names.`,
		Example: `  piecebench dataset add --dir mine --url 'https://host/piece/{piece}' --from cids.txt --verify`,
	}
	cmd.Flags().StringVar(&server.URL, "url", "", "where the server has its pieces")
	cmd.Flags().StringVar(&from, "from", "", "a file with a CID a line; - is standard input")
	cmd.Flags().BoolVar(&a.Verify, "verify", false, "download the pieces, check their CIDs, and keep checksums")
	cmd.Flags().IntVar(&a.Parallel, "parallel", 2, "requests or downloads at a time, 1 to 16")
	addServerFlags(cmd, &header, &server.Insecure)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if server.URL == "" {
			return errors.New("--url names no server: give --url 'https://host/piece/{piece}'")
		}
		if a.Parallel < 1 || a.Parallel > 16 {
			return fmt.Errorf("--parallel=%d: want 1 to 16", a.Parallel)
		}
		if a.CIDs, err = readCIDs(cmd.InOrStdin(), from, args); err != nil {
			return err
		}
		if server.Header, err = readHeader(header); err != nil {
			return err
		}
		if a.Server, err = remote.New(server); err != nil {
			return err
		}
		ctx, stop := ending.Context(cmd.Context())
		defer stop()
		return add(ctx, cmd, *dir, a)
	}
	return cmd
}

// addServerFlags defines the flags of what asks a server of one's own.
func addServerFlags(cmd *cobra.Command, header *string, insecure *bool) {
	cmd.Flags().StringVar(header, "header", "", "@ and a file of headers to send, one Name: value a line, as for curl")
	cmd.Flags().BoolVar(insecure, "insecure", false, "accept any certificate")
}

// readHeader reads the file of --header, if there is one.
func readHeader(spec string) (map[string][]string, error) {
	if spec == "" {
		return nil, nil
	}
	header, err := headerfile.Read(spec)
	if err != nil {
		return nil, fmt.Errorf("--header: %w", err)
	}
	return header, nil
}

// readCIDs returns the CIDs of the arguments and of a file.
func readCIDs(stdin io.Reader, from string, args []string) (all []piececid.CID, err error) {
	texts := args
	if from != "" {
		in := stdin
		if from != "-" {
			f, err := os.Open(from)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			in = f
		}
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if line := strings.TrimSpace(lines.Text()); line != "" && line[0] != '#' {
				texts = append(texts, line)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("--from %s: %w", from, err)
		}
	}
	for _, text := range texts {
		c, err := piececid.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("no pieces: give piece CIDs, or --from FILE with one a line")
	}
	return all, nil
}

// add adds the pieces, and prints what there is then.
func add(ctx context.Context, cmd *cobra.Command, dir string, a dataset.Addition) error {
	m, err := dataset.Add(ctx, dir, a, cmd.ErrOrStderr())
	if ctx.Err() != nil && err != nil {
		if !a.Verify {
			return errors.New("interrupted: nothing is changed")
		}
		return errors.New("interrupted: what is done is kept, and the same command goes on from there")
	}
	if mismatch := (*remote.Mismatch)(nil); errors.As(err, &mismatch) {
		return problem{err}
	}
	if err != nil {
		return err
	}
	var bytes int64
	for _, p := range m.Pieces {
		bytes += p.PayloadSize
	}
	next := ""
	if slices.ContainsFunc(m.Pieces, func(p piece.Piece) bool { return !p.Checkable() }) {
		next = ": runs of them need VERIFY=0, as nothing is known of their bytes (--verify reads them)"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d pieces, %d bytes of payload%s\n", filepath.Join(dir, manifestName), len(m.Pieces), bytes, next)
	return err
}
