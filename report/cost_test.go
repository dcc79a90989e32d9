package report

import (
	"strings"
	"testing"

	"piecebench/bench/result"
)

func priced(run *result.Run, egress, server string) *result.Run {
	run.Settings = map[string]string{"PRICE_EGRESS": egress, "PRICE_SERVER_HOUR": server}
	return run
}

func TestCostPerTBInEveryFormat(t *testing.T) {
	// 1 TB takes 8000 s at 1000 Mbit/s, and twice that at 500.
	run := func() *result.Run {
		return runOf(cell("raw", "full", 1, 500), cell("gateway", "full", 1, 250), cell("raw", "1MiB", 10, 1000), cell("gateway", "1MiB", 10, 0))
	}
	both := priced(run(), "0.02", "0.9")
	wants(t, Text(both, 100), "Cost per TB, at best: egress at 0.02 per GB, a server at 0.9 per hour\n",
		"raw 22.00 (1MiB, 10 clients)\n", "gateway 28.00 (full, 1 client)\n")
	wants(t, Markdown(both), "## Cost per TB, at best: egress at 0.02 per GB, a server at 0.9 per hour",
		"| 1gbit/40ms | full | 1 | 24.00 | 28.00 |", "| 1gbit/40ms | 1MiB | 10 | 22.00 | – |", "- **cost per TB**: of 10^12 bytes of payload")
	page := htmlOf(t, both)
	wants(t, page, "<h2>Cost per TB, at best: egress at 0.02 per GB, a server at 0.9 per hour</h2>", ">22.00 (1MiB, 10 clients)<", "<h2>Cost per TB, cell by cell</h2>", ">28.00<")

	egress := Markdown(priced(run(), "0.02", "0"))
	wants(t, egress, "at best: egress at 0.02 per GB\n", "| raw | 20.00 |", "| gateway | 20.00 |")
	if strings.Contains(egress, "per hour") || strings.Contains(egress, "cell by cell") {
		t.Error("a server without a price is counted")
	}
	server := Text(priced(run(), "", "0.9"), 100)
	wants(t, server, "at best: a server at 0.9 per hour\n", "raw 2.00 (1MiB, 10 clients)\n")

	for _, none := range []*result.Run{run(), priced(run(), "0", "0"), priced(runOf(), "1", "1")} {
		if all := Text(none, 100) + Markdown(none); strings.Contains(all, "per TB") {
			t.Errorf("prices %v have a cost", none.Settings)
		}
	}
}

func TestASmallPriceIsNotLost(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.00001234: "1.234e-05", 0.012345: "0.01235", 0.9996: "1.00", 23.567: "23.57", 4473.4: "4473", 199.96: "200.0"} {
		if got := money(v); got != want {
			t.Errorf("money(%v) = %q, want %q", v, got, want)
		}
	}
}
