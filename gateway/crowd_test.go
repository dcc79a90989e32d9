package gateway_test

import (
	"net/http"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"piecebench/gateway/internal/fixture"
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
		t.Skipf("SKIPPED: the servers' limits are NOT tested: needs %d descriptors, has %d: prlimit --pid $$ --nofile=20000", 2*clients+100, limit.Max)
	}
	d := fixture.NewDataset(t, 1<<23/128*127)
	path := "/piece/" + d.Manifest.Pieces[0].CID
	gateway, process := fixture.StartGatewayProcess(t, fixture.BuildGateway(t), d, "--access-log=false")
	for name, address := range map[string]string{"gateway": gateway, "nginx": fixture.StartNginx(t, d)} {
		t.Run(name, func(t *testing.T) {
			// Nobody reads past the head, and no socket takes the whole range, so that
			// all requests run until the test ends.
			statuses := make([]int, clients)
			var wg sync.WaitGroup
			for i := range clients {
				c := fixture.NewClient(t, address)
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
				if n := fixture.Metric(t, address, "piece_gateway_requests_in_flight"); n != clients {
					t.Errorf("%.0f requests at once, want %d", n, clients)
				}
				t.Logf("peak memory of the gateway: %d MB", process.PeakRSS(t)/1e6)
			}
		})
	}
}
