package runner_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode"

	"piecebench/internal/plain"
	"piecebench/records"
)

// wrap puts a server before the bed's own, and returns its host.
func (b *bed) wrap(serve func(files http.Handler) http.HandlerFunc) (server *httptest.Server, host string) {
	flat := filepath.Join(filepath.Dir(b.options.Manifest), "flat")
	server = httptest.NewServer(serve(http.StripPrefix("/piece/", http.FileServer(http.Dir(flat)))))
	b.t.Cleanup(server.Close)
	host = strings.TrimPrefix(server.URL, "http://")
	b.target = "mine=http://" + host + "/piece/{piece}"
	return server, host
}

// byClients tells whether a request is of the cell's clients, and not of the
// check before it.
func byClients(r *http.Request) bool { return strings.Contains(r.UserAgent(), "k6") }

// A server's user, password and token work, and stand nowhere.
func TestSecretsOfATargetAreInNoFile(t *testing.T) {
	b := newBed(t)
	user, password := rand.Text(), rand.Text()
	var look sync.Once
	server, host := b.wrap(func(files http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if u, p, _ := r.BasicAuth(); u != user || p != password || r.URL.Query().Get("token") != password {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if byClients(r) {
				look.Do(func() {
					names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
					for _, name := range names {
						if line, _ := os.ReadFile(name); bytes.Contains(line, []byte(password)) {
							t.Errorf("in the process list: %q", line)
						}
					}
				})
			}
			files.ServeHTTP(w, r)
		}
	})
	own := "mine=http://" + user + ":" + password + "@" + host + "/piece/{piece}?token=" + password
	b.target = own
	var said bytes.Buffer
	b.options.Progress = &said
	if err := b.sweep(); err != nil {
		t.Fatal(err)
	}
	run := b.load()
	if got, want := run.Settings["TARGETS"], "mine=http://***@"+host+"/piece/{piece}?token=***"; got != want {
		t.Errorf("settings have %s, want %s", got, want)
	}
	if c := run.Cells[0]; c.RequestsOK == 0 || len(c.Failed) > 0 {
		t.Errorf("%d ok, failed %v", c.RequestsOK, c.Failed)
	}

	// What is secret is no setting: the same ones complete a run.
	b.options.Resume = true
	if err := b.sweep(); err != nil {
		t.Error("resuming: ", err)
	}
	b.options.Resume = false
	for _, wrong := range []string{"mine=http://" + host + "/piece/{piece}", strings.Replace(own, user, user+"x", 1)} {
		b.target = wrong
		if err := b.sweep(); err == nil || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), user) || strings.Contains(err.Error(), password) {
			t.Error("a target that refuses: ", err)
		}
	}
	server.Close()
	b.target = own
	if err := b.sweep(); err == nil || strings.Contains(err.Error(), user) || strings.Contains(err.Error(), password) {
		t.Error("a target that is gone: ", err)
	}

	files := map[string][]byte{"what it said": said.Bytes()}
	if err := filepath.WalkDir(b.options.Out, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[path], err = os.ReadFile(path)
		}
		return err
	}); err != nil || len(files) < 6 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for name, data := range files {
		if bytes.Contains(data, []byte(user)) || bytes.Contains(data, []byte(password)) {
			t.Errorf("%s holds the secrets", name)
		}
	}
}

// A server with status lines of 60 KB made records of 249 MB of them.
func TestAServerThatTalksTooMuchIsCutShort(t *testing.T) {
	b := newBed(t)
	var n atomic.Int64
	b.wrap(func(files http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !byClients(r) {
				files.ServeHTTP(w, r)
				return
			}
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "%d%s\r\n\r\n", n.Add(1), strings.Repeat("\x1b]0;title\a\u202e", 5000))
		}
	})
	if err := b.sweep(); err != nil {
		t.Fatal(err)
	}
	run := b.load()
	c := run.Cells[0]
	if c.RequestsOK > 0 || c.Failed[records.Status] == 0 || len(c.FirstErrors) == 0 {
		t.Fatalf("%d ok, failed %v, errors %q", c.RequestsOK, c.Failed, c.FirstErrors)
	}
	rows, err := records.Open(filepath.Join(b.options.Out, c.Records))
	if err != nil {
		t.Fatal(err)
	}
	texts, requests := map[string]bool{}, int64(0)
	for row, err := range rows.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		texts[row.Error] = true
		requests++
	}
	for text := range texts {
		if len(text) > plain.MaxLine || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("an error of %d bytes: %q", len(text), text)
		}
	}
	if len(texts) > 1002 { // none, and others
		t.Errorf("%d different errors", len(texts))
	}
	for name, most := range map[string]int64{c.Records: 1<<20 + 200*requests, "run.json": 64 << 10, "report.md": 64 << 10} {
		if info, err := os.Stat(filepath.Join(b.options.Out, name)); err != nil || info.Size() > most {
			t.Errorf("%s has more than %d bytes: %v, %v", name, most, info.Size(), err)
		}
	}
}
