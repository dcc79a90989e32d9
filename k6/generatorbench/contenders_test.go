package generatorbench

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/internal/program"
	"piecebench/internal/testneeds"
	"piecebench/internal/testset"
	"piecebench/piece"
	"piecebench/records"
)

// bench is a running nginx and what the contenders need to use it.
type bench struct {
	dir      string // of temporary files
	k6       string
	manifest string
	pieces   []piece.Piece
	addresses
}

type addresses struct{ http, https string }

// configuration: sendfile from the page cache, nothing logged, and all of a
// large request in one go. The workers run as the user that reads the dataset.
const configuration = `
%s
daemon off;
worker_processes auto;
pid %[2]s/nginx.pid;
error_log stderr warn;
events { worker_connections 4096; }
http {
  access_log off;
  sendfile on;
  keepalive_requests 1000000;
  open_file_cache max=1000;
  client_body_temp_path %[2]s/body; proxy_temp_path %[2]s/proxy; fastcgi_temp_path %[2]s/fastcgi;
  uwsgi_temp_path %[2]s/uwsgi; scgi_temp_path %[2]s/scgi;
  server {
    listen %[3]s backlog=4096;
    listen %[4]s ssl backlog=4096;
    ssl_certificate %[2]s/cert.pem;
    ssl_certificate_key %[2]s/key.pem;
    location /piece/ { alias %[2]s/flat/; }
  }
}
`

// newBench makes a dataset and serves it by nginx until the benchmark's end.
func newBench(tb testing.TB) *bench {
	tb.Helper()
	testneeds.Program(tb, "nginx", "curl")
	b := &bench{dir: tb.TempDir(), addresses: addresses{freeAddress(tb), freeAddress(tb)}}
	var err error
	if b.k6, err = program.Build("k6"); err != nil {
		tb.Fatal(err)
	}
	var m *piece.Manifest
	b.manifest, m = testset.Write(tb, b.dir, 4, 256*mib)
	b.pieces = m.Pieces

	// The certificate of Go's own tests is as good as any: nobody checks it.
	tls := httptest.NewTLSServer(nil)
	defer tls.Close()
	pair := tls.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		tb.Fatal(err)
	}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	for name, text := range map[string]string{
		"cert.pem":   string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})),
		"key.pem":    string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		"nginx.conf": fmt.Sprintf(configuration, user, b.dir, b.http, b.https),
	} {
		if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	nginx := exec.Command("nginx", "-e", "stderr", "-c", b.path("nginx.conf"))
	nginx.Stderr = os.Stderr
	if err := nginx.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = nginx.Process.Signal(syscall.SIGTERM); _ = nginx.Wait() })
	for range 200 {
		if c, err := net.Dial("tcp", b.https); err == nil {
			c.Close()
			return b
		}
		time.Sleep(50 * time.Millisecond)
	}
	tb.Fatalf("nginx does not answer at %s", b.https)
	return nil
}

func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) base(t task) string {
	if t.https {
		return "https://" + b.https
	}
	return "http://" + b.http
}

// quiet are the options that leave k6 nothing to do but the test.
var quiet = []string{"run", "--quiet", "--no-thresholds", "--no-usage-report", "--insecure-skip-tls-verify"}

// stock is k6's own http.get, with discarded bodies.
func (b *bench) stock(t task) (cost, error) {
	cmd := exec.Command(b.k6, append(quiet, "--address", "", "stock.js")...)
	cmd.Env = append(os.Environ(), "MANIFEST="+b.manifest, "BASE="+b.base(t), "LENGTH="+strconv.FormatInt(t.length, 10),
		"CLIENTS="+strconv.Itoa(fewClients), "DURATION="+duration.String())
	c, out, err := measure(cmd)
	if err != nil {
		return c, err
	}
	received, err := strconv.ParseFloat(out, 64)
	if err != nil || received == 0 {
		return c, fmt.Errorf("it received nothing: %q", out)
	}
	c.bytes = int64(received)
	return c, nil
}

// retrieval is the extension, with the script that the runner uses.
func (b *bench) retrieval(t task, clients int, d time.Duration) (cost, error) {
	c, _, err := measure(b.retrievalCommand(t, clients, d, "--address", ""))
	if err != nil {
		return c, err
	}
	data, err := os.ReadFile(b.path("progress.jsonl"))
	if err != nil {
		return c, err
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	var last records.Progress
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil {
		return c, err
	}
	if last.Failed > 0 || last.Bytes == 0 {
		return c, fmt.Errorf("%d requests failed, %d bytes received", last.Failed, last.Bytes)
	}
	c.bytes = last.Bytes
	return c, nil
}

func (b *bench) retrievalCommand(t task, clients int, d time.Duration, options ...string) *exec.Cmd {
	for _, name := range []string{"requests.parquet", "progress.jsonl"} {
		os.RemoveAll(b.path(name))
	}
	c := records.Cell{
		URL: b.base(t) + "/piece/{piece}", Manifest: b.manifest, Length: t.length, Clients: uint64(clients), Duration: d,
		Seed: 1, Stall: 30 * time.Second, RecordsPath: b.path("requests.parquet"), Progress: b.path("progress.jsonl"),
	}
	if t.checked {
		c.Verify = 1
	}
	cmd := exec.Command(b.k6, slices.Concat(quiet, []string{"--summary-mode=disabled"}, options, []string{"../scripts/retrieval.js"})...)
	cmd.Env = append(os.Environ(), c.Variable())
	return cmd
}

// curl fetches a fixed number of ranges, about as many bytes as the others.
func (b *bench) curl(t task) (cost, error) {
	const total = 8 << 30
	n := total / t.length
	var config strings.Builder
	for i := range n {
		p := b.pieces[rand.IntN(len(b.pieces))]
		off := rand.Int64N(p.UnpaddedSize() - t.length + 1)
		if i > 0 {
			config.WriteString("next\n")
		}
		fmt.Fprintf(&config, "url = %s/piece/%s\nrange = %d-%d\noutput = /dev/null\nsilent\nfail\ninsecure\n", b.base(t), p.CID, off, off+t.length-1)
	}
	if err := os.WriteFile(b.path("curl.conf"), []byte(config.String()), 0o644); err != nil {
		return cost{}, err
	}
	c, _, err := measure(exec.Command("curl", "--http1.1", "--parallel", "--parallel-max", strconv.Itoa(fewClients), "--config", b.path("curl.conf")))
	c.bytes = n * t.length
	return c, err
}
