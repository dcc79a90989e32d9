package probe

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"piecebench/piece/bytesize"
)

// Bound says what a probe does at most, before it does it.
func Bound(o Options) string {
	return fmt.Sprintf("The probe only reads: at most %d requests, %s, %d requests at a time, %v.",
		MaxRequests, bytesize.String(o.MaxBytes), levels[len(levels)-1], wholeTimeouts*o.Timeout)
}

const (
	textWidth  = 100
	checkWidth = 15
	indent     = len("pass  ") + checkWidth
)

// Write writes a report as text of at most textWidth columns.
func Write(w io.Writer, r Report) error {
	var b strings.Builder
	row := func(verdict, check, seen string) {
		lines := strings.Split(text.WrapSoft(seen, textWidth-indent), "\n")
		fmt.Fprintf(&b, "%-6s%-*s%s\n", verdict, checkWidth, check, strings.TrimRight(lines[0], " "))
		for _, line := range lines[1:] {
			fmt.Fprintf(&b, "%*s%s\n", indent, "", strings.TrimRight(line, " "))
		}
	}
	for _, f := range r.Findings {
		row(string(f.Verdict), f.Check, f.Seen)
		if f.Fix != "" {
			row("", "  means", f.Means)
			row("", "  fix", f.Fix)
		}
	}
	fmt.Fprintf(&b, "\n%d pass, %d warn, %d fail, %d skip; %d requests, %d bytes\n",
		r.Count(Pass), r.Count(Warn), r.Count(Fail), r.Count(Skip), r.Requests, r.Bytes)
	_, err := io.WriteString(w, b.String())
	return err
}
