package selftest

import (
	"path/filepath"
	"testing"

	"piecebench/bench/result"
	"piecebench/lab/labtest"
)

// Each packet has 66 bytes of headers for at most 1448 bytes of payload. The rest are the
// heads of responses, handshakes, acknowledgements and what little is sent again.
const (
	headers = 66.0 / 1448
	rest    = 0.01
)

// A known payload goes through a real link, and the wire bytes of its cell are what headers
// explain. Over a link that loses 1 % of the packets, they are 1 % more.
func TestWireBytesArePayloadAndHeadersAndWhatIsSentAgain(t *testing.T) {
	b := newBed(t)
	b.up(t)
	const payload = 20 << 20
	cells := b.wireCells(t, "--links", "200mbit/5ms,200mbit/5ms/1%", "--modes", "1MiB", "--concurrency", "1", "--requests", "20", "--duration", "60s", "--warmup", "0s")
	if len(cells) != 2 {
		t.Fatalf("%d cells, want one for each link", len(cells))
	}
	for i, c := range cells {
		if c.Delivered() != payload {
			t.Fatalf("%s: %d bytes came, want %d", c.Link, c.Delivered(), payload)
		}
		overhead, ok := c.WireOverhead()
		t.Logf("%s: overhead %.4f, %s", c.Link, overhead, asJSON(c.Evidence))
		least, most := headers, headers+rest
		if i == 1 {
			least, most = headers+0.005, headers+0.03
		}
		if !ok || overhead < least || overhead > most {
			t.Errorf("%s: the overhead is %.4f, want %.4f to %.4f", c.Link, overhead, least, most)
		}
	}
	if w := cells[1].Evidence.Wire; w.LostPackets == 0 || w.Retransmitted < w.LostPackets/2 {
		t.Errorf("with 1 %% loss %d packets are lost and %d segments sent again", w.LostPackets, w.Retransmitted)
	}

	// In a window of a closed loop, requests that are cut at its ends blur the overhead.
	cells = b.wireCells(t, "--links", "none,200mbit/5ms", "--modes", "64KiB", "--concurrency", "1", "--duration", "3s", "--warmup", "1s")
	if bytes, ok := cells[0].WireBytes(); ok {
		t.Errorf("without a link nothing counts bytes, and there are %.0f", bytes)
	}
	overhead, ok := cells[1].WireOverhead()
	t.Logf("a window of 3 s: overhead %.4f, %s", overhead, asJSON(cells[1].Evidence))
	if blur := 0.04; !ok || overhead < headers-blur || overhead > headers+rest+blur {
		t.Errorf("in a window of 3 s the overhead is %.4f, want %.4f within %.2f", overhead, headers, blur)
	}
}

func (b bed) wireCells(t *testing.T, settings ...string) []result.Cell {
	t.Helper()
	var dir string
	var out []byte
	var err error
	labtest.Patiently(t, func(int) string {
		dir = filepath.Join(t.TempDir(), "run")
		run := b.Command(append([]string{filepath.Join(b.cfg.Bin, "piecebench"), "run", "--manifest", filepath.Join(b.cfg.Data, "pieces.json"),
			"--out", dir, "--targets", "raw"}, settings...)...)
		out, err = run.CombinedOutput()
		return string(out)
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return load(t, dir).Cells
}
