package promise

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"piecebench/bench/readable"
	"piecebench/bench/result"
)

// WriteJSON writes the promises of a run as JSON.
func WriteJSON(w io.Writer, run *result.Run, all []Promise) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Run        string    `json:"run"`
		Confidence float64   `json:"confidence"`
		Share      float64   `json:"share_of_requests"`
		Promises   []Promise `json:"promises"`
	}{run.ID, Confidence, Share, all})
}

// Write writes the promises of a run as text.
func Write(w io.Writer, run *result.Run, all []Promise) error {
	fmt.Fprintf(w, "What %s can promise, each figure with %s confidence (one-sided):\n\n", run.ID, percent(Confidence))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "target\tlink\tmode\tclients\trequests\tfailed\tretrievability\tMbit/s\tfirst byte\tdealbot\t")
	for _, p := range all {
		note := ""
		if p.Machine {
			note = " *"
		}
		rate, first := "none", "none"
		if !p.Recorded {
			rate, first = "no records", "no records"
		}
		if p.BytesPerSecond != nil {
			rate = ">= " + down(*p.BytesPerSecond*8/1e6)
		}
		if p.FirstByteMs != nil {
			first = "<= " + up(*p.FirstByteMs) + " ms"
		}
		dealbot := "fails"
		if p.Dealbot.More > 0 {
			dealbot = fmt.Sprintf("%d more", p.Dealbot.More)
		} else if p.Dealbot.Passes {
			dealbot = "passes"
		}
		fmt.Fprintf(t, "%s%s\t%s\t%s\t%d\t%d\t%d\t>= %s\t%s\t%s\t%s\t\n", p.Target, note, p.Link, p.Mode, p.Concurrency,
			p.Requests, p.Failed, percent(math.Floor(p.Retrievability*1e4)/1e4), rate, first, dealbot)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nMbit/s: what %s of the requests reach at least. First byte: what %s of them need at most for it, connecting included.\n", percent(Share), percent(Share))
	for _, p := range all {
		var parts []string
		for _, m := range p.More {
			parts = append(parts, fmt.Sprintf("%s for %s", readable.Count(int(m.Requests), "request"), m.For))
		}
		if len(parts) > 0 {
			fmt.Fprintf(w, "%s, %s: to promise more, measure at least: %s; all of them good.\n", p.Target,
				result.Conditions{Link: p.Link, Mode: p.Mode, Concurrency: p.Concurrency}, strings.Join(parts, ", "))
		}
		if p.Machine {
			fmt.Fprintf(w, "* %s, %s: the measuring machine decided these figures; the server may be better.\n", p.Target,
				result.Conditions{Link: p.Link, Mode: p.Mode, Concurrency: p.Concurrency})
		}
	}
	return nil
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 6, 64) + " %" }

// down and up round to three digits, so that the figure still holds.
func down(v float64) string { return rounded(v, math.Floor) }
func up(v float64) string   { return rounded(v, math.Ceil) }

func rounded(v float64, round func(float64) float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	return strconv.FormatFloat(round(v/unit)*unit, 'f', max(0, int(-math.Floor(math.Log10(unit)))), 64)
}
