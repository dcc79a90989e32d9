package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"piecebench/records"
)

//go:embed stock.js
var stockScript []byte

// quiet are the options that leave k6 nothing to do but the test.
var quiet = []string{"run", "--quiet", "--no-thresholds", "--no-usage-report", "--insecure-skip-tls-verify"}

// measure runs a command to its end.
func measure(cmd *exec.Cmd) (cost, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	err := cmd.Run()
	c := cost{elapsed: time.Since(start).Seconds()}
	if err != nil {
		return c, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(stderr.String()))
	}
	c.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	c.peakMB = peakMB(cmd)
	return c, nil
}

// stock is k6's own http.get, with discarded bodies.
func (b *bench) stock(t task) (cost, error) {
	cmd := exec.Command(b.k6, append(quiet, "--address", "", b.path("stock.js"))...)
	cmd.Env = append(os.Environ(), "MANIFEST="+b.manifestPath, "BASE="+b.base(t.https), "LENGTH="+strconv.FormatInt(t.length, 10),
		"CLIENTS="+strconv.Itoa(b.clients), "DURATION="+b.duration.String())
	var out bytes.Buffer
	cmd.Stdout = &out
	c, err := measure(cmd)
	if err != nil {
		return c, err
	}
	received, err := strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
	if err != nil || received == 0 {
		return c, fmt.Errorf("stock k6 received nothing: %q", out.String())
	}
	c.bytes = int64(received)
	return c, nil
}

// retrieval is the extension, with the script that the runner uses.
func (b *bench) retrieval(t task) (cost, error) {
	cmd := b.retrievalCommand(t, b.clients, b.duration, "")
	c, err := measure(cmd)
	if err != nil {
		return c, err
	}
	p, err := b.progress()
	if err != nil {
		return c, err
	}
	if p.Failed > 0 || p.Bytes == 0 {
		return c, fmt.Errorf("%d requests failed, %d bytes received", p.Failed, p.Bytes)
	}
	c.bytes = p.Bytes
	return c, nil
}

// retrievalCommand runs the script; api is the address of k6's own API, or "".
func (b *bench) retrievalCommand(t task, clients int, d time.Duration, api string) *exec.Cmd {
	for _, name := range []string{"requests.parquet", "progress.jsonl"} {
		os.RemoveAll(b.path(name))
	}
	args := append(quiet, "--summary-mode=disabled", "--address", api)
	if api != "" {
		args = append(args, "--profiling-enabled")
	}
	cmd := exec.Command(b.k6, append(args, b.script)...)
	c := records.Cell{
		URL: b.base(t.https) + "/piece/{piece}", Manifest: b.manifestPath, Length: t.length, Clients: uint64(clients), Duration: d,
		Seed: 1, Stall: 30 * time.Second, RecordsPath: b.path("requests.parquet"), Progress: b.path("progress.jsonl"),
	}
	if t.checked {
		c.Verify = 1
	}
	cmd.Env = append(os.Environ(), c.Variable())
	return cmd
}

// progress returns the last line of the progress file.
func (b *bench) progress() (p records.Progress, err error) {
	data, err := os.ReadFile(b.path("progress.jsonl"))
	if err != nil {
		return p, err
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return p, json.Unmarshal(lines[len(lines)-1], &p)
}

// curl fetches a fixed number of ranges, about as many bytes as the others.
func (b *bench) curl(t task) (cost, error) {
	const total = 8 << 30
	n := total / t.length
	var config strings.Builder
	for i := range n {
		p := b.manifest.Pieces[rand.IntN(len(b.manifest.Pieces))]
		off := rand.Int64N(p.UnpaddedSize() - t.length + 1)
		if i > 0 {
			config.WriteString("next\n")
		}
		fmt.Fprintf(&config, "url = %s/piece/%s\nrange = %d-%d\noutput = /dev/null\nsilent\nfail\ninsecure\n", b.base(t.https), p.CID, off, off+t.length-1)
	}
	if err := os.WriteFile(b.path("curl.conf"), []byte(config.String()), 0o644); err != nil {
		return cost{}, err
	}
	c, err := measure(exec.Command("curl", "--http1.1", "--parallel", "--parallel-max", strconv.Itoa(b.clients), "--config", b.path("curl.conf")))
	c.bytes = n * t.length
	return c, err
}
