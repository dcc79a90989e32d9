package retrieval

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/records"
)

// wholePieces serves every request with the same whole piece, and allocates nothing.
func wholePieces(tb testing.TB, size int) (url string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				head := make([]byte, 4096)
				for n := 0; ; {
					k, err := c.Read(head[n:])
					if err != nil {
						return
					}
					if n += k; bytes.HasSuffix(head[:n], []byte("\r\n\r\n")) {
						n = 0
						if _, err := c.Write(answer); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/{piece}"
}

// newCost returns a VU whose requests are as cheap as can be.
func newCost(tb testing.TB) *vu {
	tb.Helper()
	const padded = 1 << 10
	b := newBench(tb, padded, nil, records.Cell{})
	u := wholePieces(tb, padded/128*127)
	for i := range b.cell.urls {
		var err error
		if b.cell.urls[i], err = absolute(u, u); err != nil {
			tb.Fatal(err)
		}
	}
	return b.vu(tb, 1)
}

// The clients of the retrieval workload share the CPU with what is measured.
func TestGetAllocatesNoMoreThanBeforeJobs(t *testing.T) {
	v := newCost(t)
	if _, err := v.run("function many() { for (let i = 0; i < 100; i++) if (client.get().outcome !== 'ok') throw 'not ok' } many()"); err != nil {
		t.Fatal(err)
	}
	const before = 42.0 // measured in this way with the version before jobs; then 30
	perGet := testing.AllocsPerRun(5, func() { v.run("many()") }) / 100
	t.Logf("%.2f allocations for a get", perGet)
	if perGet > before {
		t.Errorf("get allocates %.2f times, want %.0f", perGet, before)
	}
}

// What a request costs, and what a job adds: `go test -run '^$' -bench . ./k6/x/retrieval`.
func BenchmarkRequests(b *testing.B) {
	for name, script := range map[string]string{
		"get":            "for (let i = 0; i < 1000; i++) client.get()",
		"get in a job":   "client.job(() => { for (let i = 0; i < 1000; i++) client.get() })",
		"batch":          "client.batch(Array.from({ length: 1000 }, () => client.next()), { parallel: 10 })",
		"batch in a job": "client.job(() => { client.batch(Array.from({ length: 1000 }, () => client.next()), { parallel: 10 }) })",
	} {
		b.Run(name, func(b *testing.B) {
			v := newCost(b)
			before := cpuOfProcess()
			for b.Loop() {
				if _, err := v.run(script); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpuOfProcess()-before)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}

// What a job adds to each of its requests.
func BenchmarkARequestOfAJob(b *testing.B) {
	c := client{cell: new(cell)}
	j := c.newJob()
	row := records.Request{Outcome: records.OK}
	for b.Loop() {
		j.begin(records.Download)
		j.end(records.Download)
		j.add(&row)
	}
}

func cpuOfProcess() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
