package retrieval

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.k6.io/k6/lib"

	"piecebench/records"
)

// truth runs a script, which must return true.
func truth(t *testing.T, v *vu, script string) {
	t.Helper()
	if got, err := v.run(script); err != nil || !got.ToBoolean() {
		t.Errorf("%s: %v, %v", script, got, err)
	}
}

func TestWhatNextReturnsIsWhatGetAsksFor(t *testing.T) {
	for _, length := range []int64{64 << 10, 0} {
		b := newBench(t, 1<<20, nil, records.Cell{Length: length, Verify: 0.5, Seed: 7})
		truth(t, b.vu(t, 1), "for (let i = 0; i < 20; i++) client.get(); true")
		// The same sequence, but for the client's number in the records.
		truth(t, b.vu(t, 1), "for (let i = 0; i < 20; i++) client.get(client.next()); true")
		truth(t, b.vu(t, 1), "client.batch(Array.from({ length: 20 }, () => client.next()), { parallel: 1 }).every(r => r.outcome === 'ok')")
		rows, _ := b.results(t)
		if len(rows) != 60 {
			t.Fatalf("%d rows", len(rows))
		}
		whole := int64(1 << 20 / 128 * 127)
		for i, r := range rows {
			want := rows[i%20]
			if r.Piece != want.Piece || r.Offset != want.Offset || r.Length != want.Length || r.Verified != want.Verified || r.Outcome != records.OK ||
				length == 0 && (r.Status != 200 || r.Length != whole) || length > 0 && r.Status != 206 {
				t.Errorf("row %d: %+v, want what row %d has: %+v", i, r, i%20, want)
			}
		}
	}
}

func TestAScriptDrawsAndChoosesPiecesItself(t *testing.T) {
	b := newBench(t, 1<<20, nil, records.Cell{Length: 1000, Seed: 7})
	const drawn = "const drawn = []; for (let i = 0; i < 20; i++) drawn.push(client.random()); drawn.join()"
	first, err := b.vu(t, 1).run(drawn)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.vu(t, 1).run(strings.Replace(drawn, "drawn.push", "client.next(), drawn.push", 1))
	if err != nil || !first.Equals(again) {
		t.Errorf("%v and, among requests, %v: %v", first, again, err)
	}
	if another, err := b.vu(t, 2).run(drawn); err != nil || first.Equals(another) {
		t.Errorf("another client draws %v: %v", another, err)
	}
	truth(t, b.vu(t, 3), "client.random() >= 0 && client.random() < 1")
	truth(t, b.vu(t, 4), "client.pieces.length === 3 && client.pieces.every((p, i) => p.size === 1040384 && client.get({ piece: p.cid, offset: p.size - 10, length: 10 }).outcome === 'ok')")
}

// objects serves these under /object/, in the way that their name says, and pieces.
func objects(content map[string][]byte) func(http.Handler) http.Handler {
	return func(files http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name, is := strings.CutPrefix(r.URL.Path, "/object/")
			if !is {
				files.ServeHTTP(w, r)
				return
			}
			body, has := content[name]
			if !has {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			switch {
			case strings.HasPrefix(name, "chunked"):
				w.Write(body)
				w.(http.Flusher).Flush()
			case strings.HasPrefix(name, "short"):
				w.Write(body)
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			default:
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
			}
		})
	}
}

func TestRequestsOfTheScriptsOwn(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789"), 1000)
	b := newBench(t, 1<<20, objects(map[string][]byte{"site 1/a?#%": body, "chunked": body, "short": body, "empty": nil}),
		records.Cell{Length: 64 << 10, ObjectURL: "/object/{object}"})
	v := b.vu(t, 1)
	p := b.cell.manifest.Pieces[2]
	v.runtime.Set("cid", p.CID)
	v.runtime.Set("cid2", p.CIDv2)
	for _, script := range []string{
		"client.get({ piece: cid, offset: 10, length: 5, verify: true }).bytes === 5",
		"client.get({ piece: cid2, length: 5 }).bytes === 5",
		"const r = client.get({ piece: 2, keep: true }); r.body.byteLength === 1040384 && client.verify(r) && r.ttfb_ms > 0 && r.duration_ms >= r.ttfb_ms",
		"client.get({ object: 'site 1/a?#%' }).bytes === 10000",
		"client.get({ object: 'site 1/a?#%', offset: 9990, length: 10, keep: true }).body.byteLength === 10",
		"String.fromCharCode(...new Uint8Array(client.get({ object: 'chunked', keep: true }).body).slice(0, 3)) === '012'",
		"client.get({ object: 'chunked' }).bytes === 10000",
		"const e = client.get({ object: 'empty', keep: true }); e.outcome === 'ok' && e.body.byteLength === 0",
		"client.get({ object: 'short' }).outcome === 'short'",
		"const none = client.get({ object: 'none', keep: true }); none.outcome === 'status' && none.body === null && none.status === 404",
	} {
		truth(t, v, "{"+script+"}")
	}
	rows, _ := b.results(t)
	want := []records.Request{
		{Piece: p.CID, Offset: 10, Length: 5, VerifiedBytes: 5}, {Piece: p.CID, Length: 5}, {Piece: p.CID, Length: 1040384},
		{Object: "site 1/a?#%", Length: 10000}, {Object: "site 1/a?#%", Offset: 9990, Length: 10}, {Object: "chunked", Length: 10000}, {Object: "chunked", Length: 10000},
		{Object: "empty"}, {Object: "short"}, {Object: "none"},
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, r := range rows {
		got := records.Request{Piece: r.Piece, Object: r.Object, Offset: r.Offset, Length: r.Length, VerifiedBytes: r.VerifiedBytes}
		if got != want[i] {
			t.Errorf("row %d: %+v, want %+v", i, got, want[i])
		}
	}
}

// Of a batch so many requests run at once, each on a connection of its own. The client
// keeps the connections for the next batch.
func TestABatchRunsInParallelOnKeptConnections(t *testing.T) {
	const parallel, rounds = 7, 3
	var running, most atomic.Int64
	connections := map[string]int{}
	seen := make(chan string, 2*parallel*rounds)
	gate := make(chan struct{})
	serve := func(files http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen <- r.RemoteAddr
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			select {
			case <-gate:
			case <-r.Context().Done():
			}
			running.Add(-1)
			files.ServeHTTP(w, r)
		})
	}
	b := newBench(t, 1<<20, serve, records.Cell{Length: 1000})
	v := b.vu(t, 1)
	go func() { // lets all go when so many have come
		for come := parallel; come <= cap(seen); come += parallel {
			for len(seen) < come {
				time.Sleep(time.Millisecond)
			}
			for range parallel {
				gate <- struct{}{}
			}
		}
	}()
	for range 2 {
		truth(t, v, `
		  {
		    const requests = Array.from({ length: 21 }, (_, i) => ({ piece: i % 3, offset: i, length: i + 1 }));
		    client.batch(requests, { parallel: 7 }).every((r, i) => r.outcome === 'ok' && r.bytes === i + 1)
		  }`)
	}
	close(seen)
	for address := range seen {
		connections[address]++
	}
	if len(connections) != parallel || most.Load() != parallel {
		t.Errorf("%d connections, at most %d requests at once; want %d", len(connections), most.Load(), parallel)
	}
	rows, _ := b.results(t)
	fresh := 0
	for _, r := range rows {
		if !r.Reused {
			fresh++
		}
	}
	if fresh != parallel {
		t.Errorf("%d requests on new connections, want %d", fresh, parallel)
	}
}

func TestAnEmptyBatchIsDoneAtOnce(t *testing.T) {
	b := newBench(t, 1<<20, nil, records.Cell{Length: 1000})
	truth(t, b.vu(t, 1), "client.batch([]).length === 0 && client.start([]).wait().length === 0")
}

func TestBodiesAreDecoded(t *testing.T) {
	raw := bytes.Repeat([]byte("sensor"), 100_000)
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := w.EncodeAll(raw, nil)
	b := newBench(t, 1<<20, objects(map[string][]byte{"good": packed, "chunked": packed, "bad": packed[:len(packed)/2], "text": []byte("no zstd")}),
		records.Cell{Length: 1000, ObjectURL: "/object/{object}"})
	v := b.vu(t, 1)
	truth(t, v, `client.job(() => {
	  const r = client.batch([{ object: 'good' }, { object: 'chunked', keep: true }, { object: 'bad' }, { object: 'text' }], { decode: 'zstd' });
	  return r[0].decoded === 600000 && r[0].body === null && r[1].decoded === 600000 && r[1].body.byteLength === r[1].bytes
	    && r[2].outcome === 'corrupt' && r[3].outcome === 'corrupt' && r[3].error.startsWith('zstd: ')
	})`)
	rows, jobs := b.results(t)
	for _, r := range rows {
		bad := r.Object == "bad" || r.Object == "text"
		if bad != (r.Outcome == records.Corrupt) || bad != (r.Error != "") {
			t.Errorf("%+v", r)
		}
	}
	if len(jobs) != 1 || jobs[0].Outcome != records.Failed || !strings.HasPrefix(jobs[0].Error, "corrupt: zstd: ") {
		t.Fatalf("%+v", jobs)
	}
	if s := jobs[0].Stages; len(s) != 2 || s[1].Name != "decode" || s[1].Ns <= 0 {
		t.Errorf("stages %+v, want download and decode", s)
	}
}

// A wrong byte in a kept body is found by verify, and fails the job.
func TestAKeptBodyIsVerified(t *testing.T) {
	wrong := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-999/1040384")
			w.WriteHeader(http.StatusPartialContent)
			w.Write(make([]byte, 1000))
		})
	}
	b := newBench(t, 1<<20, wrong, records.Cell{Length: 1000})
	truth(t, b.vu(t, 1), "client.job(() => { const r = client.get({ piece: 0, length: 1000, keep: true }); return r.outcome === 'ok' && client.verify(r) === false })")
	if _, jobs := b.results(t); jobs[0].Outcome != records.Failed || !strings.HasPrefix(jobs[0].Error, "verify: piece baga") {
		t.Errorf("%+v", jobs[0])
	}
}

func TestStoredBodiesAreInTheScratchFolder(t *testing.T) {
	scratch := t.TempDir()
	b := newBench(t, 1<<20, nil, records.Cell{Length: 1000, Scratch: scratch})
	truth(t, b.vu(t, 3), `
	  {
	    const n = client.batch([client.next(), client.next()], { keep: true }).map(r => client.store(r, { sync: true }));
	    n[0] + n[1] === 2000
	  }`)
	b.results(t)
	if st, err := os.Stat(filepath.Join(scratch, "client-3")); err != nil || st.Size() != 2000 || st.Mode().Perm() != 0o600 {
		t.Error(st, err)
	}
}

func TestARequestsOwnTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := newBench(t, 1<<20, nil, records.Cell{Length: 1000, ObjectURL: "/object/{object}"})
	b.cell.opts.ObjectURL = fmt.Sprintf("http://%s/{object}", l.Addr())
	truth(t, b.vu(t, 1), `
	  {
	    const r = client.batch([{ object: 'a' }, { object: 'b', timeout: 0.02 }], { timeout: 0.05 });
	    r[0].error === 'not done after 50ms' && r[1].error === 'not done after 20ms' && r[0].outcome === 'timeout'
	  }`)
}

// Once the window has closed, nothing is sent, nobody gets null, and no job begins.
func TestAfterTheWindowNothingBegins(t *testing.T) {
	b := newBench(t, 1<<20, nil, records.Cell{Length: 1000, Duration: time.Nanosecond})
	<-b.ctx.Done()
	b.ctx = lib.WithScenarioState(t.Context(), b.scenario) // a scenario that outlives the window
	v := b.vu(t, 1)
	truth(t, v, "client.get().outcome === 'cut' && client.batch([client.next()])[0].outcome === 'cut' && client.job(() => 1) === undefined")
	if rows, jobs := b.results(t); len(rows)+len(jobs) != 0 {
		t.Error(rows, jobs)
	}
}

// Whatever a job is doing when its scenario ends, it ends at once, and is recorded as cut.
func TestTheEndInterruptsAJob(t *testing.T) {
	hang := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	}
	for _, does := range []string{
		"client.get()", "client.batch([client.next(), client.next()])", "client.start([client.next()]).wait()", "client.start([client.next()])",
		"while (true);", "compute(1e6)", "client.stage('verify', () => { while (true) client.next() })",
	} {
		b := newBench(t, 1<<20, hang, records.Cell{Length: 1000, Duration: 100 * time.Millisecond})
		v := b.vu(t, 1)
		v.run("client.job(() => { " + does + " })")
		rows, jobs := b.results(t)
		if len(jobs) != 1 || jobs[0].Outcome != records.Cut || jobs[0].Error != "" || jobs[0].WindowNs <= 0 || jobs[0].DurationNs > int64(100*time.Millisecond) || jobs[0].Requests != int64(len(rows)) {
			t.Errorf("%s: %+v", does, jobs)
		}
		for _, r := range rows {
			if r.Outcome != records.Cut || r.Job != 1 {
				t.Errorf("%s: %+v", does, r)
			}
		}
	}
}
