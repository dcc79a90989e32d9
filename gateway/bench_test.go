package gateway_test

import (
	"fmt"
	"testing"
	"time"

	"piecebench/gateway/store"
	"piecebench/internal/testset"
)

// maxRSS is what the gateway promises. Speed is reported, as ratios, and never
// fails: it is the machine's as much as the gateway's.
const maxRSS = 256 << 20

// window is one turn of load. Turns are many and short, and all alternate, so
// that what else the machine does meets all alike.
const window = time.Second

// server is something to put load on, and what it delivered so far.
type server struct {
	name, address string
	process       *process // nil for nginx, which has several
	rate, ttfb    float64  // summed over rounds
}

// rounds puts load on all servers in turns: A B C C B A, and so on.
func rounds(b *testing.B, load load, servers []*server) {
	turns := 0
	for b.Loop() {
		for i := range 2 * len(servers) {
			s := servers[min(i, 2*len(servers)-1-i)]
			load.Address = s.address
			r := load.Run(window)
			if r.Failed > 0 {
				b.Errorf("%s: %d requests failed: %v", s.name, r.Failed, r.FirstErr)
			}
			s.rate += r.Rate()
			s.ttfb += r.TTFB(0.95).Seconds()
			turns++
		}
	}
	for _, s := range servers {
		n := float64(turns / len(servers))
		b.Logf("%s: %.0f MB/s, TTFB (95th percentile) %.1f ms", s.name, s.rate/n/1e6, s.ttfb/n*1e3)
	}
}

// reportRSS reports a gateway's peak memory, in MB, and holds it to its promise.
func reportRSS(b *testing.B, s *server) {
	rss := s.process.peakRSS(b)
	b.ReportMetric(float64(rss)/1e6, s.name+"-RSS-MB")
	if rss > maxRSS {
		b.Errorf("%s: %d MiB of memory, more than %d", s.name, rss>>20, maxRSS>>20)
	}
}

func benchDataset(b *testing.B) testset.Dataset {
	const size = 256 << 20 // larger than a processor's caches
	return testset.Import(b, b.TempDir(), size/128*127, size/128*127)
}

// BenchmarkServe compares both stores with nginx. The figures of a store are
// its goodput and its TTFB over nginx's.
func BenchmarkServe(b *testing.B) {
	d := benchDataset(b)
	nginx := startNginx(b, d)
	for _, load := range []load{
		{Clients: 10, Range: 1 << 20},
		{Clients: 10, Range: 100 << 20},
		{Clients: 1000, Range: 1 << 20},
		{Clients: 1000, Range: 100 << 20},
	} {
		b.Run(fmt.Sprintf("%dx%dMiB", load.Clients, load.Range>>20), func(b *testing.B) {
			servers := []*server{{name: "nginx", address: nginx}}
			for _, name := range []string{store.FlatName, store.UnsealedName} {
				address, p := startGatewayProcess(b, d, "--store", name, "--access-log=false")
				servers = append(servers, &server{name: name, address: address, process: p})
			}
			load.Pieces = d.Manifest.Pieces
			rounds(b, load, servers)
			b.ReportMetric(0, "ns/op") // says nothing here
			for _, s := range servers[1:] {
				b.ReportMetric(s.rate/servers[0].rate, s.name+"/nginx")
				b.ReportMetric(s.ttfb/servers[0].ttfb, s.name+"-TTFB/nginx")
				reportRSS(b, s)
			}
		})
	}
}

// BenchmarkAmongSlowReaders compares what 10 clients get from a gateway that
// also has 1000 clients of 1 kB/s with what they get from one that has not.
func BenchmarkAmongSlowReaders(b *testing.B) {
	d := benchDataset(b)
	for _, name := range []string{store.FlatName, store.UnsealedName} {
		b.Run(name, func(b *testing.B) {
			var servers []*server
			for _, readers := range []string{"without", "among"} {
				address, p := startGatewayProcess(b, d, "--store", name, "--access-log=false")
				servers = append(servers, &server{name: readers, address: address, process: p})
			}
			slowReaders(b, servers[1].address, "/piece/"+d.Manifest.Pieces[0].CID, 1000)
			rounds(b, load{Clients: 10, Range: 10 << 20, Pieces: d.Manifest.Pieces}, servers)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(servers[1].rate/servers[0].rate, "among/without")
			reportRSS(b, servers[1])
		})
	}
}
