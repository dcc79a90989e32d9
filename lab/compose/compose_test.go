// Package compose_test runs docker-compose.yml and the make commands that drive
// it, with a real Docker engine.
package compose_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/bench/result"
	"piecebench/dashboards"
	"piecebench/internal/program"
	"piecebench/lab/labtest"
)

// owner is whom the checkout belongs to, and so what a bench under sudo makes.
const owner = 12345

// cells is how many a sweep here has: two targets, one mode, two numbers of clients.
const cells = 4

// bench is a checkout of its own, and a Docker engine that runs it.
type bench struct {
	engine
	dir        string
	prometheus string // URL
	grafana    string // port
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{engine: needEngine(t), dir: filepath.Join(t.TempDir(), "checkout")}
	copyCheckout(t, b.dir)
	b.takeBuiltPrograms(t, "k6/Dockerfile", "netem/Dockerfile", "gateway/Dockerfile")
	port := labtest.FreePort(t)
	b.prometheus = fmt.Sprintf("http://127.0.0.1:%d", port)
	b.grafana = strconv.Itoa(labtest.FreePort(t))
	b.env = append(b.env, "RUNTIME=compose", fmt.Sprintf("PROMETHEUS_PORT=%d", port), "GRAFANA_PORT="+b.grafana,
		"PIECES=2", "PIECE_SIZE=16MiB", "LINKS=200mbit/20ms", "MODES=1MiB", "CONCURRENCY=1,4", "DURATION=3s", "WARMUP=1s")
	t.Cleanup(func() {
		if out := b.make("down"); out.err != nil {
			t.Error("make down:", out)
		}
		if out := b.run("docker", "volume", "rm", "-f", "piecebench_prometheus"); out.err != nil {
			t.Error(out)
		}
	})
	return b
}

// copyCheckout copies the project as it is, without what is made in it.
func copyCheckout(t *testing.T, to string) {
	t.Helper()
	from := checkout(t)
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	pack := fmt.Sprintf("tar -C '%s' --exclude=./.git --exclude=./bin --exclude=./data --exclude=./results -cf - . | tar -C '%s' -xf -", from, to)
	if out, err := exec.Command("sh", "-c", pack).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("chown", "-R", fmt.Sprintf("%d:%d", owner, owner), to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// compiles matches the stage of a Dockerfile that compiles the programs.
var compiles = regexp.MustCompile(`(?s)\nFROM golang:[^\n]* AS build\n.*?\nFROM `)

// takeBuiltPrograms has images take programs that are built here, where Go has a
// cache: compiling them in the engine takes minutes each.
func (b *bench) takeBuiltPrograms(t *testing.T, dockerfiles ...string) {
	t.Helper()
	out := filepath.Join(b.dir, "built")
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"piecebench", "k6", "netem-agent", "piece-gateway"} {
		built, err := program.Build(name)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := exec.Command("install", built, filepath.Join(out, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	for _, file := range dockerfiles {
		file = filepath.Join(b.dir, file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		taken := compiles.ReplaceAll(text, []byte("\nFROM scratch AS build\nCOPY built/ /out/\n\nFROM "))
		if bytes.Equal(taken, text) {
			t.Fatalf("%s has no stage that compiles", file)
		}
		if err := os.WriteFile(file, taken, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *bench) makeCommand(args ...string) *exec.Cmd {
	cmd := b.command(append([]string{"make", "--no-print-directory"}, args...)...)
	cmd.Dir = b.dir
	// A process group of its own: a terminal's Ctrl-C reaches all of it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func (b *bench) make(args ...string) output { return capture(b.makeCommand(args...)) }

// refused runs make, which must fail with code 2 and say want.
func (b *bench) refused(t *testing.T, want string, args ...string) {
	t.Helper()
	out := b.make(args...)
	if out.err == nil || !strings.Contains(out.stderr, "Error 2") || !strings.Contains(out.stderr, want) {
		t.Errorf("make %s: want exit code 2 and %q, got %s", strings.Join(args, " "), want, out)
	}
}

// sweep runs make bench to its end and returns the run's folder.
func (b *bench) sweep(t *testing.T, args ...string) (string, result.Run) {
	t.Helper()
	out := b.make(append([]string{"bench"}, args...)...)
	if out.err != nil {
		t.Fatal("make bench:", out)
	}
	lines := strings.Split(strings.TrimSpace(out.stdout), "\n")
	dir, ok := strings.CutSuffix(lines[len(lines)-1], "/report.html")
	if !ok {
		t.Fatalf("the last line is not the report's path: %s", out)
	}
	dir = filepath.Join(b.dir, dir)
	run, err := result.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, *run
}

// containers returns the services that have a container.
func (b *bench) containers(t *testing.T) string {
	t.Helper()
	return strings.Join(b.must(t, "docker", "ps", "--all", "--filter", "label=com.docker.compose.project=piecebench",
		"--format", `{{.Label "com.docker.compose.service"}}`), " ")
}

func (b *bench) wantNothingLeft(t *testing.T) {
	t.Helper()
	if left := b.containers(t); left != "" {
		t.Error("containers are left:", left)
	}
	if left := b.must(t, "docker", "network", "ls", "--quiet", "--filter", "label=com.docker.compose.project=piecebench"); len(left) > 0 {
		t.Error("networks are left:", left)
	}
}

func TestBenchInContainers(t *testing.T) {
	b := newBench(t)
	dir, run := b.sweep(t)
	wantSoundRun(t, run)
	wantOwned(t, filepath.Join(b.dir, "data"), dir)
	for _, name := range []string{"netem.log", "nginx.log", "gateway.log"} {
		if _, err := os.Stat(filepath.Join(dir, "logs", name)); err != nil {
			t.Error(err)
		}
	}
	if left := strings.Fields(b.containers(t)); len(left) != 2 {
		t.Errorf("after a bench there are containers of %v; want prometheus, grafana", left)
	}
	b.wantLoopbackOnly(t)
	if err := dashboards.Check(context.Background(), b.prometheus, run.ID); err != nil {
		t.Error("dashboards against this sweep:", err)
	}

	b.interruptAndResume(t)
	if out := b.make("down"); out.err != nil {
		t.Error("make down:", out)
	}
	b.wantNothingLeft(t)
	b.must(t, "docker", "volume", "rm", "piecebench_prometheus")
}

func TestContainersStartOrSayWhyNotAndLeaveNothing(t *testing.T) {
	b := newBench(t)
	config := b.command("docker", "compose", "--profile", "run", "config", "--quiet")
	config.Dir = b.dir
	if out := capture(config); out.err != nil || out.stderr != "" {
		t.Error("docker compose config:", out)
	}
	b.refused(t, "PIECES=0: want", "bench", "PIECES=0")
	b.refused(t, "unknown variable PIECEZ", "bench", "PIECEZ=1")
	b.wantNothingLeft(t)

	b.wantALookAround(t)
	if out := b.make("down"); out.err != nil {
		t.Error("make down:", out)
	}
	b.wantNothingLeft(t)

	taken, err := net.Listen("tcp", "127.0.0.1:"+b.grafana)
	if err != nil {
		t.Fatal(err)
	}
	b.refused(t, "grafana did not start", "up")
	taken.Close()
	b.wantNothingLeft(t)

	// The gateway's image is compiled as its Dockerfile says.
	dockerfile := filepath.Join("gateway", "Dockerfile")
	text, err := os.ReadFile(filepath.Join(checkout(t), dockerfile))
	if err == nil {
		err = os.WriteFile(filepath.Join(b.dir, dockerfile), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	build := b.command("docker", "compose", "build", "gateway")
	build.Dir = b.dir
	if out := capture(build); out.err != nil {
		t.Error("docker compose build gateway:", out)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "cmd", "piece-gateway", "broken.go"), []byte("package main\n\nnonsense\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.refused(t, "building gateway failed", "bench")
	b.wantNothingLeft(t)
}

// wantSoundRun checks a run's own figures: every request succeeded, no cell is
// faster than the link, and it says what it ran in.
func wantSoundRun(t *testing.T, run result.Run) {
	t.Helper()
	if run.Finished == nil || len(run.Cells) != cells {
		t.Errorf("run has %d cells, finished %v; want %d", len(run.Cells), run.Finished, cells)
	}
	for _, c := range run.Cells {
		if rate, ok := c.SuccessRate(); !ok || rate != 1 {
			t.Errorf("cell %d (%s, %s, %d clients): success rate %v, %v", c.ID, c.Target, c.Mode, c.Concurrency, rate, c.FirstErrors)
		}
		// Buffers of a window's start may drain into it.
		if share, ok := c.LinkShare(); !ok || share <= 0 || share > 1.1 {
			t.Errorf("cell %d (%s, %s, %d clients): %.2f of the link", c.ID, c.Target, c.Mode, c.Concurrency, share)
		}
		if c.ServerCPUSPerGB == nil || c.ServerRSSMB == nil {
			t.Errorf("cell %d (%s): the agent did not see the server's processes", c.ID, c.Target)
		}
	}
	for name, want := range map[string]string{"congestion control of the servers": "cubic", "net.ipv4.tcp_no_metrics_save": "1"} {
		if got := run.Fingerprint[name]; got != want {
			t.Errorf("fingerprint: %s is %q, want %q", name, got, want)
		}
	}
	if run.Fingerprint["nginx"] == "" || run.Settings["RUNTIME"] != "compose" {
		t.Errorf("the run says nginx %q, RUNTIME %q", run.Fingerprint["nginx"], run.Settings["RUNTIME"])
	}
}

// wantOwned checks that everything below the folders belongs to the checkout's
// owner.
func wantOwned(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if uid := info.Sys().(*syscall.Stat_t).Uid; uid != owner {
				t.Errorf("%s belongs to user %d, want %d", path, uid, owner)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// wantLoopbackOnly checks the published ports, as the engine tells them.
func (b *bench) wantLoopbackOnly(t *testing.T) {
	t.Helper()
	published := 0
	for _, field := range b.must(t, "docker", "ps", "--format", "{{.Ports}}") {
		if host, _, ok := strings.Cut(field, "->"); ok {
			published++
			if !strings.HasPrefix(host, "127.0.0.1:") {
				t.Error("published beyond this machine:", field)
			}
		}
	}
	if published != 2 {
		t.Errorf("%d published ports; want Prometheus's and Grafana's", published)
	}
}

// interruptAndResume stops a second bench by Ctrl-C after its first cell, and
// has a third one finish it.
func (b *bench) interruptAndResume(t *testing.T) {
	t.Helper()
	cmd := b.makeCommand("bench")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	buffer, interrupted := make([]byte, 4096), false
	for {
		n, err := stderr.Read(buffer)
		said.Write(buffer[:n])
		if err != nil {
			break
		}
		if !interrupted && strings.Contains(said.String(), fmt.Sprintf("cell 1 of %d", cells)) {
			interrupted = true
			if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	_, after, _ := strings.Cut(said.String(), "RESUME=")
	folder, _, _ := strings.Cut(after, " ")
	if err == nil || folder == "" {
		t.Fatalf("make bench was interrupted: %v, %s; want an error and what to resume", err, said.String())
	}
	for deadline := time.Now().Add(30 * time.Second); len(strings.Fields(b.containers(t))) != 2; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("after an interrupt there are containers of", b.containers(t))
		}
	}
	dir, run := b.sweep(t, "RESUME="+folder)
	if filepath.Base(dir) != filepath.Base(folder) {
		t.Errorf("resumed %s, and the report is in %s", folder, dir)
	}
	wantSoundRun(t, run)
}

// wantALookAround brings the lab up and looks around in it as README.md says.
func (b *bench) wantALookAround(t *testing.T) {
	t.Helper()
	if out := b.make("up"); out.err != nil {
		t.Fatal("make up:", out)
	}
	look := b.command("docker", "compose", "exec", "-T", "netem", "ip", "-s", "address")
	look.Dir = b.dir
	if out := capture(look); out.err != nil || !strings.Contains(out.stdout, "198.18.0.2") {
		t.Error("docker compose exec netem ip -s address: want the lab's address, got", out)
	}
}
