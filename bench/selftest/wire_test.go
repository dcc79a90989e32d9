package selftest

import (
	"os/exec"
	"testing"

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
	var dir string
	var out []byte
	var err error
	labtest.Patiently(t, func(int) string {
		var run *exec.Cmd
		run, dir = b.sweep(t, "--targets", "raw", "--links", "200mbit/5ms,200mbit/5ms/1%", "--modes", "1MiB", "--concurrency", "1",
			"--requests", "20", "--duration", "60s", "--warmup", "0s")
		out, err = run.CombinedOutput()
		return string(out)
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cells := load(t, dir).Cells
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
}
