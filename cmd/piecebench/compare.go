package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"piecebench/bench/compare"
	"piecebench/bench/result"
	"piecebench/report/comparison"
	"piecebench/report/export"
)

func compareCommand() *cobra.Command {
	var targets []string
	var format, failBeyond, margin string
	cmd := &cobra.Command{
		Use:   "compare A [B]",
		Short: "Compare two runs, or two targets of one, row by row",
		Long: `Compare two runs, or two targets of one, row by row: ratios with their
intervals, from runs with repetitions (REPEAT=5; three at least).

  piecebench compare results/before results/after
  piecebench compare results/before results/after --fail-beyond 5%
  piecebench compare results/x --targets raw,gateway

Better and worse: the interval excludes "no difference". No difference: it lies within
the margin. Unclear: neither. Not judged: the machine that measured limited a side.

--fail-beyond exits with 1 where a figure is shown to be worse by more than that, where
anything is missing or zero (a cell, a repetition, a byte of goodput, a figure), and where
the machine limited every row. Without three repetitions it exits with 2.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return fmt.Errorf("compare takes the folders of two runs, or of one with --targets; got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := parsePercent("--fail-beyond", failBeyond)
			if err != nil {
				return err
			}
			most, err := parsePercent("--margin", margin)
			if err != nil {
				return err
			}
			chosen, err := export.Named(export.OfComparisons(terminalWidth()), format)
			if err != nil {
				return fmt.Errorf("compare %w", err)
			}
			a, b, err := loadSides(args, targets)
			if err != nil {
				return err
			}
			c, err := compare.Runs(a, b, targets)
			if err != nil {
				return err
			}
			c.Margin = most
			out, err := chosen.Comparison(comparison.Document(c))
			if err != nil {
				return err
			}
			if _, err := cmd.OutOrStdout().Write(out); err != nil || failBeyond == "" {
				return err
			}
			return failOn(c, limit)
		},
	}
	cmd.Flags().StringSliceVar(&targets, "targets", nil, "compare these two targets, A's and B's, such as raw,gateway; without B, both of A")
	cmd.Flags().StringVar(&format, "format", "text", export.Names(export.OfComparisons(mostWidth)))
	cmd.Flags().StringVar(&failBeyond, "fail-beyond", "", "exit with 1 if a figure is shown to be worse by more than this share, such as 5%")
	cmd.Flags().StringVar(&margin, "margin", fmt.Sprintf("%g%%", 100*compare.DefaultMargin), "the difference that does not matter: an interval within it shows no difference")
	return cmd
}

// loadSides reads one run or two; one alone has targets to compare.
func loadSides(args, targets []string) (a, b *result.Run, err error) {
	if a, err = result.Load(args[0]); err != nil {
		return nil, nil, err
	}
	if len(args) == 2 {
		b, err = result.Load(args[1])
		return a, b, err
	}
	if targets == nil {
		return nil, nil, fmt.Errorf("%s alone: name a second run to compare it with, or two of its targets: --targets raw,gateway", args[0])
	}
	return a, a, nil
}

// failOn returns what --fail-beyond found. What is missing or zero could hide
// anything.
func failOn(c *compare.Comparison, limit float64) error {
	found, err := c.Regressions(limit)
	var problems []string
	if len(found) > 0 {
		problems = append(problems, fmt.Sprintf("worse by more than %s %%: %s", strconv.FormatFloat(100*limit, 'g', 4, 64), comparison.Regressions(c, found)))
	}
	if missing := comparison.Missing(c); missing != "" {
		problems = append(problems, "missing: "+missing)
	}
	if c.Judged() == 0 {
		problems = append(problems, fmt.Sprintf("no goodput could be judged: the machine that measured limited all %d rows", len(c.Rows)))
	}
	switch {
	case problems != nil:
		return problem{errors.New(strings.Join(problems, "; "))}
	case err != nil:
		return fmt.Errorf("--fail-beyond: %w", err)
	}
	return nil
}

// parsePercent reads a flag's share such as 5%; empty is 0.
func parsePercent(flag, text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	number, ok := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(v >= 0 && v < 100) {
		return 0, fmt.Errorf("%s %s: give a share from 0%% to less than 100%%, such as 5%%", flag, text)
	}
	return v / 100, nil
}
