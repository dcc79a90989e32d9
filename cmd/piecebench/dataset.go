package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"piecebench/bench/settings"
	"piecebench/internal/ending"
	"piecebench/piece/commp"
	"piecebench/piece/dataset"

	"github.com/spf13/cobra"
)

func datasetCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "dataset",
		Short: "Makes, imports and checks the pieces that a run retrieves",
	}
	c.PersistentFlags().StringVar(&dir, "dir", "data", "the dataset's folder")
	c.AddCommand(datasetCreate(&dir), datasetImport(&dir), datasetAdd(&dir), datasetVerify(&dir), datasetCID())
	return c
}

func datasetCreate(dir *string) *cobra.Command {
	c := &cobra.Command{
		Use:   "create",
		Short: "Makes generated pieces, or reuses those that are there",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := settings.LoadDataset(c.Flags())
			if err != nil {
				return err
			}
			return interruptible(func(ctx context.Context) error {
				_, err := dataset.Create(ctx, *dir, p, c.ErrOrStderr())
				return err
			})
		},
	}
	settings.AddFlags(c.Flags(), settings.DatasetVariables...)
	return c
}

// interruptible runs f with a context that a signal cancels.
func interruptible(f func(context.Context) error) error {
	ctx, stop := ending.Context(context.Background())
	defer stop()
	err := f(ctx)
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: nothing half-made is left behind")
	}
	return err
}

func datasetImport(dir *string) *cobra.Command {
	var link bool
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Copies CAR files, or any others, into a new dataset, one piece each, or links to them",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, names []string) error {
			return interruptible(func(ctx context.Context) error {
				m, err := dataset.Import(ctx, *dir, names, link, c.ErrOrStderr())
				if err != nil {
					return err
				}
				for i, p := range m.Pieces {
					fmt.Fprintln(c.OutOrStdout(), p.CID, names[i])
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&link, "link", false, "leave the files where they are: symbolic links instead of copies, and no sectors")
	return cmd
}

func datasetVerify(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Checks every byte on disk against the manifest",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return interruptible(func(ctx context.Context) error {
				m, faults, err := dataset.Verify(ctx, *dir, c.ErrOrStderr())
				if err != nil {
					return err
				}
				for _, f := range faults {
					fmt.Fprintln(c.OutOrStdout(), f)
				}
				if len(faults) > 0 {
					return problem{fmt.Errorf("%s: faults: %d", *dir, len(faults))}
				}
				if n := len(m.Pieces); m.Pieces[0].Remote() { // and so all of them
					fmt.Fprintf(c.OutOrStdout(), "%s: %d pieces on a server, and their checksums as they must be\n", *dir, n)
				} else {
					fmt.Fprintf(c.OutOrStdout(), "%s: %d pieces, every byte as it must be\n", *dir, n)
				}
				return nil
			})
		},
	}
}

func datasetCID() *cobra.Command {
	return &cobra.Command{
		Use:   "cid FILE...",
		Short: "Prints the piece CIDs of files: <v1> <v2> <payload bytes> <padded bytes> <name>",
		Long:  "Prints, per file: <v1> <v2> <payload bytes> <padded bytes> <name>. The name - is standard input.",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, names []string) error {
			for _, name := range names {
				if err := printCID(c.OutOrStdout(), c.InOrStdin(), name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func printCID(w io.Writer, stdin io.Reader, name string) error {
	r := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		r = f
	}
	v2, err := commp.Sum(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err = fmt.Fprintln(w, v2.V1(), v2, v2.PayloadSize, v2.PaddedSize, name)
	return err
}
