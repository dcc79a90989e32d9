package retrieval

import (
	"errors"
	"strings"
	"testing"

	"github.com/grafana/sobek"
	"go.k6.io/k6/errext"

	"piecebench/records"
)

// What a script does wrong ends the test, with one line that says what to do and where.
func TestMisuseEndsTheTestAndNamesTheLine(t *testing.T) {
	b := newBench(t, 1<<20, nil, records.Cell{Length: 64 << 10})
	for call, want := range map[string]string{
		"client.get({ piece: 'baga6ea4seaqnone' })":                                         "get(): piece baga6ea4seaqnone is not in the manifest",
		"client.get({ piece: 3 })":                                                          "get(): piece is 3: want a number from 0 to 2: the manifest has 3 pieces",
		"client.get({ piece: 0.5 })":                                                        "get(): piece is 0.5: want a whole number",
		"client.get({ piece: 0, offset: 1040384, length: 1 })":                              "offset is 1040384: want a number from 0 to 1040383: the piece has 1040384 bytes",
		"client.get({ piece: 0, offset: 5, length: 1040380 })":                              "length is 1040380: want a number from 1 to 1040379: the piece has 1040384 bytes",
		"client.get({ piece: 0, offset: 5 })":                                               "the request has an offset and no length: give both, or none for the whole",
		"client.get({ piece: 0, lenght: 5 })":                                               "a request has no property lenght: it may have piece, object, offset, length, verify, keep, decode, timeout",
		"client.get({ piece: 0, object: 'a' })":                                             "a request has either a piece (index or CID) or an object (name)",
		"client.get(7)":                                                                     "a request is 7: want an object with piece,",
		"client.get({ object: 'site/0' })":                                                  "object site/0: the cell has no object_url, so this target serves pieces only",
		"client.get({ piece: 0, decode: 'gzip' })":                                          "decode is gzip: want 'zstd'",
		"client.get({ piece: 0, keep: 1 })":                                                 "keep is 1: want true or false",
		"client.get({ piece: 0, timeout: '5s' })":                                           "timeout is 5s: want a number from 0.001 to 1000000 seconds",
		"client.batch([client.next()], { parallel: 0 })":                                    "batch(): parallel is 0: want a number from 1 to 1000",
		"client.batch([client.next()], { parallel: 1.5 })":                                  "batch(): parallel is 1.5: want a whole number",
		"client.batch([client.next(), 7])":                                                  "batch(): request 1: a request is 7",
		"client.start(7)":                                                                   "start(): the first argument is not an array of requests",
		"client.job(7)":                                                                     "job(): the argument is not a function",
		"client.job(() => client.job(() => 1))":                                             "job(): a job cannot start inside another one: use stage() for a part of it",
		"client.job(async () => client.get())":                                              "job(): the function is async: leave async out",
		"client.stage('verify', () => 1)":                                                   "stage(): stage verify is not inside a job",
		"client.job(() => client.stage('a b', () => 1))":                                    "a stage cannot be called a b",
		"client.job(() => client.stage('download', () => 1))":                               "a stage cannot be called download",
		"client.job(() => client.stage('verify'))":                                          "stage verify: the second argument is not a function",
		"client.job(() => { for (let i = 0; i < 21; i++) client.stage(`s${i}`, () => 1) })": "a job has more than 20 stages",
		"client.verify(client.get())":                                                       "verify(): the response has no body: ask for it with keep: true",
		"client.verify({})":                                                                 "verify(): the first argument is not a response of",
		"client.store(client.get({ piece: 0, keep: true }))":                                "store(): the cell has no scratch folder",
		"compute('long')":                                                                   "compute(long): want a number of milliseconds",
	} {
		_, err := b.vu(t, 1).run("\n  " + call + ";\n while (true);")
		var interrupted *sobek.InterruptedError
		if !errors.As(err, &interrupted) || !errext.IsInterruptError(err) {
			t.Errorf("%s: %v; want the test aborted", call, err)
			continue
		}
		// k6 shows this.
		if said := interrupted.Error(); !strings.Contains(said, want) || !strings.Contains(said, "mine.js:2:") || strings.Contains(said, "\n") {
			t.Errorf("%s: %q; want %q, line 2, in one line", call, said, want)
		}
	}
}

func TestAServerOfObjectsOnlyIsNotAskedForPieces(t *testing.T) {
	b := newBench(t, 1<<20, nil, records.Cell{Length: 64 << 10})
	b.cell.urls = nil // as without a url
	for _, call := range []string{"client.get()", "client.next()", "client.get({ piece: 0 })"} {
		if _, err := b.vu(t, 1).run(call); err == nil || !strings.Contains(err.Error(), "this target serves objects only") {
			t.Errorf("%s: %v", call, err)
		}
	}
}
