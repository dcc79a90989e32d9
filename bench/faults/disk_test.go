package faults

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/bench/result"
	"piecebench/internal/testneeds"
	"piecebench/lab/labtest"
)

// ownServer is an installation, and the sweep of two cells over a server of its own,
// without a lab.
func ownServer(t *testing.T) (command func(resume string) *exec.Cmd, dir string) {
	t.Helper()
	install, data := labtest.Install(t, "piecebench", "k6"), labtest.Dataset(t)
	server := httptest.NewServer(http.StripPrefix("/piece/", http.FileServer(http.Dir(filepath.Join(data, "flat")))))
	t.Cleanup(server.Close)
	dir = filepath.Join(t.TempDir(), "results")
	return func(resume string) *exec.Cmd {
		args := []string{"run", "--targets", "mine=" + server.URL + "/piece/{piece}", "--links", "none", "--modes", "64KiB", "--concurrency", "1,2",
			"--duration", "3s", "--warmup", "500ms", "--manifest", filepath.Join(data, "pieces.json")}
		if resume == "" {
			args = append(args, "--out", filepath.Join(dir, "run"))
		}
		cmd := exec.Command(filepath.Join(install, "bin", "piecebench"), args...)
		cmd.Env = append(os.Environ(), "RESUME="+resume)
		return cmd
	}, dir
}

func TestAFullDiskLosesNothingThatWasFinished(t *testing.T) {
	testneeds.All(t, "it mounts a file system")
	testneeds.Root(t)
	command, dir := ownServer(t)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	run := command("")
	var said strings.Builder
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "run")
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if unfinished, _ := filepath.Glob(filepath.Join(folder, "requests", "002-*.unfinished")); len(unfinished) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no second cell:\n%s", said.String())
		}
	}
	filler := filepath.Join(dir, "filler")
	if err := fill(filler); err != unix.ENOSPC {
		t.Fatal(err)
	}
	if err := run.Wait(); err == nil || !strings.Contains(said.String(), "no space left on device") {
		t.Errorf("%v: %s", err, said.String())
	}
	first, err := result.Load(folder)
	if err != nil || len(first.Cells) != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	before := fingerprint(t, folder, first.Cells[0])
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if out, err := command(folder).CombinedOutput(); err != nil {
		t.Fatalf("RESUME: %v\n%s", err, out)
	}
	whole, err := result.Load(folder)
	if err != nil || len(whole.Cells) != 2 || whole.Finished == nil || fingerprint(t, folder, whole.Cells[0]) != before {
		t.Errorf("%+v, %v", whole, err)
	}
}

// fill writes until nothing more fits.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 4096)
	for {
		if _, err := unix.Write(int(f.Fd()), block); err != nil {
			return err
		}
	}
}
