package lab_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"piecebench/internal/testneeds"
	"piecebench/lab"
	"piecebench/lab/labtest"
	"piecebench/servers"
)

// configOf is the configuration of a lab with one server, and objects in its dataset.
func configOf(t *testing.T, r servers.Recipe) lab.Config {
	t.Helper()
	testneeds.Program(t, slices.Sorted(maps.Keys(r.Packages))...)
	if r.Uses(servers.Python) {
		testneeds.File(t, filepath.Join(r.PythonDir(), servers.Requirements))
	}
	cfg := config(t)
	cfg.Targets = r.Target
	set := filepath.Join(cfg.Data, "objects", "set")
	if err := os.MkdirAll(set, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"frame-0.bin": 100, "frame-1.bin": 300_000} {
		if err := os.WriteFile(filepath.Join(set, name), bytes.Repeat([]byte(name), size/len(name)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}

// download gets bytes of a URL from where the lab's clients are.
func download(t *testing.T, l lab.Lab, url, bytes string) []byte {
	t.Helper()
	argv := []string{"curl", "-sS", "--fail", "--max-time", "60", url}
	if bytes != "" {
		argv = append(argv, "--range", bytes)
	}
	cmd := l.Command(argv...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s, bytes %s: %v", url, bytes, err)
	}
	return out
}

func TestEveryServerDeliversTheDatasetAndDownLeavesNothing(t *testing.T) {
	for _, r := range servers.All() {
		t.Run(r.Target, func(t *testing.T) {
			cfg := configOf(t, r)
			l := labtest.New(t, "server")
			before := mounts(t)
			up(t, l, cfg)
			address, _, ok := strings.Cut(labTargets(t, l), "/piece/{piece}")
			if !ok || !strings.HasPrefix(address, r.Target+"=http://") {
				t.Fatalf("the lab's target is %s", address)
			}
			_, address, _ = strings.Cut(address, "=")
			want := func(path, file string) {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if got := download(t, l, address+path, ""); !bytes.Equal(got, data) {
					t.Errorf("%s: %d bytes that differ from the %d of %s", path, len(got), len(data), file)
				}
				for _, edges := range [][2]int{{0, 0}, {1, len(data) / 2}, {len(data) - 20, len(data) - 1}} {
					from, to := edges[0], edges[1]
					if got := download(t, l, address+path, fmt.Sprintf("%d-%d", from, to)); !bytes.Equal(got, data[from:to+1]) {
						t.Errorf("%s: bytes %d to %d differ from those of %s", path, from, to, file)
					}
				}
			}
			files, err := filepath.Glob(filepath.Join(cfg.Data, "flat", "*"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, file := range files {
				want("/piece/"+filepath.Base(file), file)
			}
			if slices.Contains(r.Serves, servers.Objects) {
				for _, name := range []string{"set/frame-0.bin", "set/frame-1.bin"} {
					want("/object/"+name, filepath.Join(cfg.Data, "objects", name))
				}
			}
			pids := serverPIDs(t, l)
			if err := l.Down(); err != nil {
				t.Fatal(err)
			}
			for pid := range strings.FieldsSeq(pids) {
				wantEnd(t, pid)
			}
			if l.Exists() {
				t.Error("a namespace is left")
			}
			if _, err := os.Stat(filepath.Join(l.Dir(), "run")); !os.IsNotExist(err) {
				t.Errorf("the servers' folders are left: %v", err)
			}
			if after := mounts(t); after != before {
				t.Errorf("mounts are left: %s; before: %s", after, before)
			}
			wantNoProcessOf(t, cfg)
		})
	}
}

func labTargets(t *testing.T, l lab.Lab) string {
	t.Helper()
	for _, variable := range l.Environment() {
		if value, ok := strings.CutPrefix(variable, "LAB_TARGETS="); ok {
			return value
		}
	}
	t.Fatal("the lab has no LAB_TARGETS")
	return ""
}

func mounts(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// wantNoProcessOf looks for processes whose command names the lab's installation or dataset.
func wantNoProcessOf(t *testing.T, cfg lab.Config) {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "pid,args", "-ww").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, filepath.Dir(cfg.Bin)+"/") || strings.Contains(line, cfg.Data) {
			t.Error("a process is left:", line)
		}
	}
}

func TestALabHasOnlyTheServersThatAreNamed(t *testing.T) {
	cfg := config(t)
	cfg.Targets = "gateway"
	l := labtest.New(t, "one")
	up(t, l, cfg)
	if got := labTargets(t, l); strings.Contains(got, "raw=") {
		t.Error("LAB_TARGETS is", got)
	}
	for _, p := range l.Status(state(t, l)) {
		if p.Name == "nginx" || !p.Listening {
			t.Errorf("%+v", p)
		}
	}
	other := cfg
	other.Targets = "raw,gateway"
	if err := l.Up(other, t.Output()); err == nil || !strings.Contains(err.Error(), "another configuration") {
		t.Errorf("up with another server: %v", err)
	}
}
