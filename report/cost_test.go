package report_test

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
	wants(t, textOf(both, 100), "Cost per TB, at best: egress at 0.02 per GB, a server at 0.9 per hour\n",
		"raw 22.00 (1MiB, 10 clients)\n", "gateway 28.00 (full, 1 client)\n")
	wants(t, markdownOf(both), "## Cost per TB, at best: egress at 0.02 per GB, a server at 0.9 per hour",
		"| 1gbit/40ms | full | 1 | 24.00 | 28.00 |", "| 1gbit/40ms | 1MiB | 10 | 22.00 | – |", "- **cost per TB**: for 10^12 bytes of goodput")
	page := htmlOf(t, both)
	wants(t, page, "<h2>Cost per TB, at best: egress at 0.02 per GB, a server at 0.9 per hour</h2>", ">22.00 (1MiB, 10 clients)<", "<h2>Cost per TB, row by row</h2>", ">28.00<")

	egress := markdownOf(priced(run(), "0.02", "0"))
	wants(t, egress, "at best: egress at 0.02 per GB\n", "| raw | 20.00 |", "| gateway | 20.00 |")
	if strings.Contains(egress, "per hour") || strings.Contains(egress, "row by row") {
		t.Error("a server without a price is counted")
	}
	server := textOf(priced(run(), "", "0.9"), 100)
	wants(t, server, "at best: a server at 0.9 per hour\n", "raw 2.00 (1MiB, 10 clients)\n")

	for _, none := range []*result.Run{run(), priced(run(), "0", "0"), priced(runOf(), "1", "1")} {
		if all := textOf(none, 100) + markdownOf(none); strings.Contains(all, "per TB") {
			t.Errorf("prices %v have a cost", none.Settings)
		}
	}
}

// wired gives a cell wire bytes: so many percent more than its payload.
func wired(c result.Cell, percent int64) result.Cell {
	bytes := c.Delivered() * (100 + percent) / 100
	c.Evidence = &result.Evidence{Wire: &result.Wire{Bytes: bytes, Packets: bytes / 1514, Seconds: c.WindowS, Segments: 1000, Retransmitted: 20}}
	return c
}

func TestEgressIsWhatWentOverTheWire(t *testing.T) {
	known := priced(runOf(wired(cell("raw", "full", 1, 500), 5), wired(cell("gateway", "full", 1, 250), 10)), "0.02", "0.9")
	wants(t, textOf(known, 1000), "raw 25.00 (full, 1 client)\n", "gateway 30.00 (full, 1 client)\n",
		"Egress counts the bytes on the wire, with headers and retransmissions.",
		"Headers and retransmissions added 7.5 % to the payload in the median row and 10.0 % in the worst (gateway, full, 1 client")
	wants(t, markdownOf(known), "| overhead |", "| 10.0 % |", "- **on the wire**")
	wants(t, htmlOf(t, known), "275 Mbit/s, 10.0 % more than the payload; 2.0 % of the segments sent again")

	some := priced(runOf(wired(cell("raw", "full", 1, 500), 5), cell("gateway", "full", 1, 250)), "0.02", "0")
	wants(t, textOf(some, 1000), "raw 21.00 (full, 1 client)\n", "gateway 20.00 (payload)\n", "(payload): they are not known, and egress counts payload")
	wants(t, textOf(priced(runOf(cell("raw", "full", 1, 500)), "0.02", "0"), 1000), "Egress counts payload.")
	if text := textOf(priced(runOf(cell("raw", "full", 1, 500)), "0", "0.9"), 1000); strings.Contains(text, "Egress counts") {
		t.Errorf("without a price of egress:\n%s", text)
	}
}
