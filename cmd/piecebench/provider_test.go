package main_test

import (
	"bytes"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piecebench/bench/result"
	"piecebench/records"
)

// A provider's day: a server with TLS by an authority of its own, at an IPv6 address,
// that wants a token.
func TestAServerWithTLSATokenAndIPv6IsMeasured(t *testing.T) {
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("SKIPPED, NOT tested: there is no IPv6 here: ", err)
	}
	s := newProviderOn(t, listener, 5_000_000)
	p := newProgram(t, "k6")
	target := "mine=" + s.url()
	step := func(args ...string) string {
		t.Helper()
		out, diagnostics, code := p.run(args...)
		if code != 0 {
			t.Fatalf("%v: exit code %d\n%s%s", args, code, out, diagnostics)
		}
		return out + diagnostics
	}
	said := step("dataset", "add", "--dir", "mine", "--url", s.url(), "--header", "@"+s.file, "--verify", s.cid.String())
	said += step("run", "--targets", target, "--headers", "@"+s.file, "--links", "none", "--modes", "full,64KiB", "--concurrency", "2,", "--requests", "5",
		"--warmup", "0s", "--verify", "1", "--manifest", "mine/pieces.json", "--out", "results")
	said += step("report", "results")

	run, err := result.Load(filepath.Join(p.dir, "results"))
	if err != nil {
		t.Fatal(err)
	}
	if run.Settings["HEADERS"] != "mine=@***" {
		t.Errorf("HEADERS is recorded as %q", run.Settings["HEADERS"])
	}
	for _, c := range run.Cells {
		if c.RequestsOK != 10 || len(c.Failed) > 0 || c.Verified != 10 {
			t.Errorf("%s: %d ok, %d verified, failed %v: %v", c.Mode, c.RequestsOK, c.Verified, c.Failed, c.FirstErrors)
		}
		rows, err := records.Open(filepath.Join(p.dir, "results", c.Records))
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range rows.Rows() {
			if err != nil || r.TLS != "TLS 1.3" {
				t.Errorf("TLS is %q, %v", r.TLS, err)
			}
		}
	}
	texts := map[string][]byte{"what was said": []byte(said)}
	if err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			texts[path], err = os.ReadFile(path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		if bytes.Contains(text, []byte(token)) {
			t.Errorf("%s has the token", name)
		}
	}

	// Without the authority, only INSECURE=yes goes on, and the report says so.
	t.Setenv("SSL_CERT_FILE", "")
	again := []string{"run", "--targets", target, "--headers", "@" + s.file, "--links", "none", "--modes", "64KiB", "--concurrency", "1,", "--requests", "1",
		"--warmup", "0s", "--manifest", "mine/pieces.json", "--out", "insecure"}
	if _, diagnostics, code := p.run(again...); code != 2 || !strings.Contains(diagnostics, "certificate") {
		t.Errorf("an unknown authority: exit code %d, %s", code, diagnostics)
	}
	if out := step(append(again, "--insecure", "yes")...); !strings.Contains(out, "Certificates were not checked") {
		t.Errorf("INSECURE is not said: %s", out)
	}
	if out, _, _ := p.run("probe", s.url(), s.cid.V1().String(), "--header", "@"+s.file, "--insecure"); !strings.Contains(out, "pass  range ") {
		t.Errorf("probe: %s", out)
	}
}
