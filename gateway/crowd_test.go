package gateway_test

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"piecebench/internal/testset"
)

// With an earlier limit of 4096 requests the rest of a larger cell got 429 from the
// lab itself.
func TestFiveThousandClientsAtOnceAreAllServed(t *testing.T) {
	const clients = 5000
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max < 2*clients+100 {
		t.Skipf("SKIPPED, NOT tested: it needs %d descriptors, and has %d: sudo prlimit --pid $$ --nofile=20000", 2*clients+100, limit.Max)
	}
	// What is sent to clients that do not read took 210 kB of the kernel's memory each.
	var low, pressure, most int
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_mem")
	if _, scanErr := fmt.Sscan(string(text), &low, &pressure, &most); err != nil || scanErr != nil {
		t.Fatal(err, scanErr)
	}
	if most < 1_500_000_000/os.Getpagesize() {
		t.Skipf("SKIPPED, NOT tested: it needs 1.5 GB of TCP buffers, and net.ipv4.tcp_mem allows %d pages", most)
	}
	d := testset.Import(t, t.TempDir(), 1<<23/128*127)
	path := "/piece/" + d.Manifest.Pieces[0].CID
	gateway, process := startGatewayProcess(t, d, "--access-log=false")
	for name, address := range map[string]string{"gateway": gateway, "nginx": startNginx(t, d)} {
		t.Run(name, func(t *testing.T) {
			// Nobody reads past the head, and no socket takes the whole range, so that
			// all requests run until the test ends.
			statuses := make([]int, clients)
			var wg sync.WaitGroup
			for i := range clients {
				c := newClient(t, address)
				wg.Go(func() {
					c.Ask(path, "Range: bytes=0-6999999")
					statuses[i] = c.Head().StatusCode
				})
			}
			wg.Wait()
			byStatus := map[int]int{}
			for _, status := range statuses {
				byStatus[status]++
			}
			if byStatus[http.StatusPartialContent] != clients {
				t.Errorf("of %d requests at once by status: %v", clients, byStatus)
			}
			if name == "gateway" {
				if n := metric(t, address, "piece_gateway_requests_in_flight"); n != clients {
					t.Errorf("%.0f requests at once, want %d", n, clients)
				}
				t.Logf("peak memory of the gateway: %d MB", process.peakRSS(t)/1e6)
			}
		})
	}
}
