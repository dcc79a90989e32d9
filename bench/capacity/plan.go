package capacity

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"piecebench/bench/plan"
)

// Write prints the searches, the most cells that they measure, and how long these take.
func (s *Search) Write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "target\tlink\tmode\tclients\tcells")
	for _, o := range s.searches {
		fmt.Fprintf(table, "%s\t%s\t%s\t1 to %d\tat most %d\n", o.target.Name, o.link, o.mode.Name, o.most, MostCells)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, left, _ := s.Next(nil)
	fmt.Fprintf(w, "\nat most %d cells, about %s\n", s.MostCells(), plan.Roughly(left+plan.CeilingsTime(s.settings)))
	if len(s.without) > 0 {
		fmt.Fprintf(w, "Not searched, because there are no limits for them: %s.\n", strings.Join(s.without, "; "))
	}
	return nil
}
