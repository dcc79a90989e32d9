package gateway_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/gateway"
	"piecebench/internal/testset"
	"piecebench/piece"
)

// A file that is broken before the first byte is a 500, for that piece alone,
// and the log names the file; the client is not told the path.
func TestBrokenFileIs500(t *testing.T) {
	for what, spoil := range map[string]func(path string) error{
		"missing": os.Remove,
		"short":   func(path string) error { info, _ := os.Stat(path); return os.Truncate(path, info.Size()-1) },
	} {
		d := testset.Import(t, t.TempDir(), 1000, 500_000)
		p := d.Manifest.Pieces[1] // the last of the sector
		both(t, d, func(t *testing.T, address string) {
			for _, path := range []string{p.Flat, p.Sector} {
				whole := filepath.Join(d.Dir, path)
				if data, err := os.ReadFile(whole); err == nil {
					t.Cleanup(func() { os.WriteFile(whole, data, 0o644) })
					if err := spoil(whole); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, method := range []string{"GET", "HEAD"} {
				r := do(t, address, method, "/piece/"+p.CID, "Range: bytes=100-")
				if r.Status != 500 || r.Header.Get("ETag") != "" || r.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s file: %s gets %d with %v", what, method, r.Status, r.Header)
				}
				if text := string(r.Body); method == "GET" && (!strings.Contains(text, p.CID) || strings.Contains(text, d.Dir)) {
					t.Errorf("%s file: %q", what, text)
				}
			}
		})
	}
}

// A file that breaks while it is sent ends the connection with a reset, long
// before the end that was announced.
func TestFileThatBreaksHalfwayAborts(t *testing.T) {
	d := testset.Import(t, t.TempDir(), big)
	p := d.Manifest.Pieces[0]
	both(t, d, func(t *testing.T, address string) {
		for _, path := range []string{p.Flat, p.Sector} {
			whole := filepath.Join(d.Dir, path)
			data, err := os.ReadFile(whole)
			if err != nil {
				t.Fatal(err)
			}
			defer os.WriteFile(whole, data, 0o644)
		}
		c := newClient(t, address)
		c.Ask("/piece/" + p.CID)
		resp := c.Head()
		want := d.Bytes(p)
		for _, path := range []string{p.Flat, p.Sector} {
			if err := os.Truncate(filepath.Join(d.Dir, path), p.PaddedSize-1<<20); err != nil {
				t.Fatal(err)
			}
		}
		body, err := io.ReadAll(resp.Body)
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%d bytes of %d, then %v", len(body), len(want), err)
		}
		if string(body) != string(want[:len(body)]) {
			t.Error("wrong bytes before the reset")
		}
		if n := metric(t, address, abortedByStore); n != 1 {
			t.Errorf("%v responses aborted by the store", n)
		}
	})
}

func TestReload(t *testing.T) {
	d := testset.Import(t, t.TempDir(), big, 1000)
	kept, removed := d.Manifest.Pieces[0], d.Manifest.Pieces[1]
	g, log := serveGateway(t, d, nil)
	address := g.Addr().String()
	status := func(p piece.Piece) int { return do(t, address, "HEAD", "/piece/"+p.CID).Status }

	// This request starts under the first manifest and ends under the last.
	running := newClient(t, address)
	running.Ask("/piece/" + kept.CID)
	body := running.Head().Body

	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(d.Path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	good, err := os.ReadFile(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"empty":         "",
		"cut off":       string(good[:len(good)/2]),
		"wrong version": strings.Replace(string(good), `"version": `, `"version": 99`, 1),
		"wrong CID":     strings.Replace(string(good), kept.CID[20:30], removed.CID[20:30], 1),
		"wrong size":    strings.Replace(string(good), `"padded_size": 16777216`, `"padded_size": 33554432`, 1),
	} {
		write(text)
		if err := g.Reload(); err == nil {
			t.Errorf("%s manifest accepted", what)
		}
		if status(kept) != 200 || status(removed) != 200 {
			t.Errorf("%s manifest: the old one does not serve any more", what)
		}
	}
	if n := metric(t, address, `piece_gateway_manifest_reloads_total{result="refused"}`); n != 5 {
		t.Errorf("%v reloads refused, want 5", n)
	}
	if n := strings.Count(log.String(), "the old one stays"); n != 5 {
		t.Errorf("%d refusals logged, want 5", n)
	}

	smaller := &piece.Manifest{Version: piece.ManifestVersion, Seed: d.Manifest.Seed, Pieces: d.Manifest.Pieces[:1]}
	if err := smaller.Save(d.Path); err != nil {
		t.Fatal(err)
	}
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	if status(kept) != 200 || status(removed) != 404 {
		t.Errorf("after the reload: %d and %d, want 200 and 404", status(kept), status(removed))
	}
	if n, err := io.Copy(io.Discard, body); err != nil || n != kept.UnpaddedSize() {
		t.Errorf("the running request got %d bytes, %v", n, err)
	}
}

// The command, as a service manager runs it: SIGHUP reloads, SIGTERM lets what
// runs end, takes nothing new, and exits with 0.
func TestCommandSignals(t *testing.T) {
	d := testset.Import(t, t.TempDir(), big)
	p := d.Manifest.Pieces[0]
	address, process := startGatewayProcess(t, d)

	process.Signal(syscall.SIGHUP)
	eventually(t, "reloaded", func() bool {
		return metric(t, address, `piece_gateway_manifest_reloads_total{result="ok"}`) == 1
	})

	c := newClient(t, address)
	c.Ask("/piece/" + p.CID)
	body := c.Head().Body
	process.Signal(syscall.SIGTERM)
	eventually(t, "new connections refused", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	if n, err := io.Copy(io.Discard, body); err != nil || n != p.UnpaddedSize() {
		t.Errorf("the running request got %d bytes, %v", n, err)
	}
	if err := <-process.done; err != nil {
		t.Errorf("ended with %v\n%s", err, process.log)
	}
}

func TestCommandRefusesBadInput(t *testing.T) {
	bin := buildGateway(t)
	d := testset.Import(t, t.TempDir(), 1000)
	corrupt := filepath.Join(t.TempDir(), "pieces.json")
	if err := os.WriteFile(corrupt, []byte(`{"version":1`), 0o644); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		text string // in the one line
		args []string
	}{
		{"manifest", nil},
		{"manifest", []string{"--manifest", filepath.Join(d.Dir, "none.json")}},
		{corrupt, []string{"--manifest", corrupt}},
		{"unknown store", []string{"--manifest", d.Path, "--store", "sealed"}},
		{"address already in use", []string{"--manifest", d.Path, "--listen", taken.Addr().String()}},
		{"listening on nowhere", []string{"--manifest", d.Path, "--listen", "nowhere"}},
		{"in-flight limit", []string{"--manifest", d.Path, "--max-in-flight", "0"}},
		{"unknown flag", []string{"--manifest", d.Path, "--fast"}},
		{"unknown command", []string{"--manifest", d.Path, "serve"}},
	} {
		out, err := exec.CommandContext(t.Context(), bin, c.args...).CombinedOutput()
		text := string(out)
		if err == nil || err.Error() != "exit status 2" || !strings.Contains(text, c.text) || strings.Count(text, "\n") != 1 {
			t.Errorf("%q: %v, %q; want exit status 2 and one line with %q", c.args, err, text, c.text)
		}
	}
}

// Requests that do not end within the drain timeout are dropped.
func TestDrainIsBounded(t *testing.T) {
	d := testset.Import(t, t.TempDir(), big)
	c := gateway.DefaultConfig()
	c.Manifest, c.Listen, c.DrainTimeout = d.Path, "127.0.0.1:0", 100*time.Millisecond
	g, err := gateway.New(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- g.Serve(ctx) }()
	client := newClient(t, g.Addr().String())
	client.Ask("/piece/" + d.Manifest.Pieces[0].CID)
	client.Head()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := client.AwaitEnd(); err == nil {
		t.Error("the dropped response ended as if it were whole")
	}
}
