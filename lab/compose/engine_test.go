package compose_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/internal/testneeds"
)

// composeModule is built where Docker has no compose plugin.
const composeModule = "github.com/docker/compose/v2@v2.40.3"

// engine is a Docker engine with compose, as the environment that its client
// and make need to reach it.
type engine struct{ env []string }

// needEngine returns the engine that runs here, or starts Debian's for the test
// and gives it stand-ins for the public images.
func needEngine(t *testing.T) engine {
	t.Helper()
	testneeds.Engine(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cache = filepath.Join(cache, "piecebench")
	var e engine
	if e.run("docker", "version").err != nil {
		testneeds.Program(t, "dockerd", "debootstrap", "iptables-save")
		e = startEngine(t, filepath.Join(cache, "engine"))
		defer e.must(t, filepath.Join(checkout(t), "scripts", "standin-images"))
	}
	if e.run("docker", "compose", "version").err != nil {
		config := filepath.Join(cache, "docker-config")
		buildCompose(t, filepath.Join(config, "cli-plugins", "docker-compose"))
		e.env = append(e.env, "DOCKER_CONFIG="+config)
	}
	return e
}

// startEngine starts dockerd, which ends with the test, and TestMain restores the
// host's network. Its images stay in the folder data, so that the next test has them.
func startEngine(t *testing.T, data string) engine {
	t.Helper()
	dir, err := os.MkdirTemp("", "piecebench-engine") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	socket := "unix://" + filepath.Join(dir, "docker.sock")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	daemon := exec.Command("dockerd", "--data-root", data, "--exec-root", filepath.Join(dir, "exec"), "--pidfile", filepath.Join(dir, "pid"), "--host", socket)
	daemon.Stdout, daemon.Stderr = log, log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- daemon.Wait() }()
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM) // an error means that it has ended
		<-exited
		if t.Failed() {
			t.Log("the engine's log:", log.Name())
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	e := engine{env: []string{"DOCKER_HOST=" + socket}}
	for deadline := time.Now().Add(time.Minute); e.run("docker", "version").err != nil; time.Sleep(100 * time.Millisecond) {
		select {
		case err := <-exited:
			exited <- err
			t.Fatalf("dockerd does not start (%v): see %s", err, log.Name())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("dockerd does not answer: see %s", log.Name())
		}
	}
	// What a test that was killed has left in the folder data.
	e.must(t, "docker", "container", "prune", "--force")
	e.must(t, "docker", "network", "prune", "--force")
	e.must(t, "docker", "volume", "prune", "--force")
	return e
}

// buildCompose builds compose from its module, which has to be the main one:
// its go.mod excludes versions.
func buildCompose(t *testing.T, plugin string) {
	t.Helper()
	if _, err := os.Stat(plugin); err == nil {
		return
	}
	download := exec.Command("go", "mod", "download", "-json", composeModule)
	download.Dir = t.TempDir()
	out, err := download.Output()
	if err != nil {
		t.Fatalf("go mod download %s: %v: %s", composeModule, err, out)
	}
	var module struct{ Dir, Version string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	building := plugin + ".building" // a build that is killed leaves half a file
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X github.com/docker/compose/v2/internal.Version="+module.Version, "-o", building, "./cmd")
	build.Dir = module.Dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building compose: %v: %s", err, out)
	}
	if err := os.Rename(building, plugin); err != nil {
		t.Fatal(err)
	}
}

// output is what a command came to.
type output struct {
	stdout, stderr string
	err            error
}

func (o output) String() string { return fmt.Sprintf("%v\n%s%s", o.err, o.stdout, o.stderr) }

func (e engine) command(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), e.env...)
	return cmd
}

func (e engine) run(argv ...string) output { return capture(e.command(argv...)) }

func capture(cmd *exec.Cmd) output {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return output{stdout.String(), stderr.String(), err}
}

// must returns what a command prints, one field a line.
func (e engine) must(t *testing.T, argv ...string) []string {
	t.Helper()
	out := e.run(argv...)
	if out.err != nil {
		t.Fatalf("%s: %s", strings.Join(argv, " "), out)
	}
	return strings.Fields(out.stdout)
}

// checkout is the folder of this project.
func checkout(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
