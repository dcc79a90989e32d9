package selftest

import (
	"crypto/sha256"
	"flag"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

const (
	stallFrom = 100 // connections, from which on each request waits
	stall     = time.Second

	// The throttle lets chunks pass at 20 Mbit/s, all connections together.
	chunk         = 16 << 10
	throttleEvery = chunk * 8 * time.Second / 20_000_000

	burnRounds = 1000 // of SHA-256 over every byte
)

// serveFaulty serves pieces with a fault that is known, in place of the lab's gateway:
// whose bottlenecks must be found.
func serveFaulty() {
	manifest := flag.String("manifest", "", "pieces.json; flat/ is beside it")
	listen := flag.String("listen", "", "address")
	flag.String("store", "", "as the gateway has it; not used")
	flag.Bool("access-log", false, "as the gateway has it; not used")
	flag.Parse()

	var clients atomic.Int64
	server := http.Server{Addr: *listen, ConnState: func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			clients.Add(1)
		case http.StateClosed:
			clients.Add(-1)
		}
	}}
	stalling := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if clients.Load() >= stallFrom {
				time.Sleep(stall)
			}
			next.ServeHTTP(w, r)
		})
	}
	pieces := http.FileServer(http.Dir(filepath.Join(filepath.Dir(*manifest), "flat")))
	mux := http.NewServeMux()
	mux.Handle("/piece/", http.StripPrefix("/piece", pieces)) // by which a lab sees that it answers
	for fault, with := range map[string]func(http.Handler) http.Handler{"stall": stalling, "throttle": throttled, "burn": burning} {
		prefix := "/" + fault + "/piece/"
		mux.Handle(prefix, with(http.StripPrefix(strings.TrimSuffix(prefix, "/"), pieces)))
	}
	server.Handler = mux
	log.Fatal(server.ListenAndServe())
}

// throttled idles between chunks.
func throttled(next http.Handler) http.Handler {
	turn := time.NewTicker(throttleEvery)
	return perChunk(next, func([]byte) { <-turn.C })
}

// burning works on every byte.
func burning(next http.Handler) http.Handler {
	return perChunk(next, func(p []byte) {
		for range burnRounds {
			sha256.Sum256(p)
		}
	})
}

// perChunk calls do before each chunk of a body is written.
func perChunk(next http.Handler, do func([]byte)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&writer{w, do}, r)
	})
}

type writer struct {
	http.ResponseWriter
	do func([]byte)
}

func (w *writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		part := p[:min(len(p), chunk)]
		w.do(part)
		var m int
		m, err = w.ResponseWriter.Write(part)
		w.ResponseWriter.(http.Flusher).Flush()
		n, p = n+m, p[len(part):]
	}
	return n, err
}
