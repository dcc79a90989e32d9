package labtest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piecebench/lab"
)

// Patiently calls sweep, which runs one and returns what it said, until its link
// is not refused, at most four times. A machine that other work keeps busy falls
// short of a good link now and then, which is not what the caller tests.
func Patiently(t *testing.T, sweep func(attempt int) (said string)) {
	t.Helper()
	const attempts = 4
	for attempt := 1; attempt <= attempts; attempt++ {
		said := sweep(attempt)
		_, reason, refused := strings.Cut(said, " refused: ")
		if !refused {
			return
		}
		t.Logf("attempt %d of %d: the link was refused: %s", attempt, attempts, reason)
	}
}

// New returns a lab with a name that no other test process uses, and removes it
// when the test ends.
func New(t *testing.T, suffix string) lab.Lab {
	t.Helper()
	l, err := lab.Named(fmt.Sprintf("t%d-%s", os.Getpid(), suffix))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error("taking the lab down:", err)
		}
		_ = os.RemoveAll(l.Dir())
	})
	return l
}

// Config returns the configuration of a lab from an installation, with a small
// dataset. Its Prometheus has a folder, but no port: it has to be asked for.
func Config(t *testing.T, root string) lab.Config {
	t.Helper()
	return lab.Config{
		Data: Dataset(t), Bin: filepath.Join(root, "bin"), Servers: filepath.Join(root, "servers"), Targets: "raw,gateway",
		Store: "unsealed", Backend: "auto",
		Prometheus: lab.Prometheus{Conf: filepath.Join(root, "dashboards", "prometheus.yml"), Data: filepath.Join(t.TempDir(), "prometheus")},
	}
}

// FreePort returns a TCP port of 127.0.0.1 that nothing listens on.
func FreePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
