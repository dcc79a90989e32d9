package contained

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/internal/testneeds"
)

const afterwards = "everything has died"

func TestMain(m *testing.M) {
	os.Exit(Run(m.Run, func() {
		if os.Getenv("TEST_THAT_HANGS") != "" {
			fmt.Println(afterwards)
		}
	}))
}

// TestThatHangs is what the other tests run: it leaves a process that has a session of its
// own, a network namespace and a folder, whose path it prints, and does not end.
func TestThatHangs(t *testing.T) {
	if os.Getenv("TEST_THAT_HANGS") == "" {
		return
	}
	if out, err := exec.Command("ip", "netns", "add", "left-behind").CombinedOutput(); err != nil {
		t.Fatalf("ip netns add: %v: %s", err, out)
	}
	orphan := exec.Command("sh", "-c", "setsid sleep 1000 & echo "+t.TempDir())
	orphan.Stdout = os.Stdout
	if err := orphan.Run(); err != nil {
		t.Fatal(err)
	}
	select {}
}

func TestWhatATestStartsDiesWithIt(t *testing.T) {
	testneeds.Root(t)
	testneeds.Program(t, "ip")
	for _, end := range []struct {
		name  string
		args  []string
		end   func(*os.Process) error
		says  string
		after string
	}{
		{"at its time limit", []string{"-test.timeout=2s"}, func(*os.Process) error { return nil }, "test timed out after 2s", afterwards},
		{"at SIGTERM", nil, func(p *os.Process) error { return p.Signal(syscall.SIGTERM) }, "", afterwards},
		{"at kill -9", nil, (*os.Process).Kill, "", ""},
	} {
		t.Run(end.name, func(t *testing.T) {
			// Its output ends when the last process that may write to it is dead.
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			cmd := exec.Command(os.Args[0], append([]string{"-test.run=^TestThatHangs$"}, end.args...)...)
			cmd.Env = append(os.Environ(), "TEST_THAT_HANGS=yes")
			var said strings.Builder
			cmd.Stdout, cmd.Stderr = write, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			write.Close()
			if err := read.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			out := bufio.NewReader(read)
			folder, err := out.ReadString('\n')
			if err != nil {
				t.Fatalf("%q, %v\n%s", folder, err, said.String())
			}
			if err := end.end(cmd.Process); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(out); err != nil {
				t.Errorf("a process is left: %v", err)
			} else if strings.TrimSpace(string(rest)) != end.after {
				t.Errorf("afterwards said %q, want %q", rest, end.after)
			}
			if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), end.says) {
				t.Errorf("ended with %v, said %s", err, said.String())
			}
			if _, err := os.Stat(strings.TrimSpace(folder)); (err == nil) != (end.after == "") {
				t.Errorf("its folder %s: %v", folder, err)
			}
			if _, err := os.Stat("/run/netns/left-behind"); err == nil {
				t.Error("a network namespace is left")
			}
		})
	}
}

func TestWhatATestChangesOfTheHostsSettingsIsNotTheHosts(t *testing.T) {
	testneeds.Root(t)
	another := t.TempDir()
	if err := unix.Mount("proc", another, "proc", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(another, unix.MNT_DETACH)
	for _, setting := range own {
		if _, err := os.Stat(setting); err != nil {
			t.Skip("SKIPPED, NOT tested: the host's settings are not seen in this container:", err)
		}
		if out, err := exec.Command("sh", "-c", "echo 4711 >"+setting).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if changed, err := os.ReadFile(setting); err != nil || string(changed) != "4711\n" {
			t.Errorf("%s: %q, %v", setting, changed, err)
		}
		theHosts, err := os.ReadFile(filepath.Join(another, strings.TrimPrefix(setting, "/proc")))
		if err != nil || string(theHosts) == "4711\n" {
			t.Errorf("%s of the host: %q, %v", setting, theHosts, err)
		}
	}
}

// Whoever looks whether a process has ended looks into /proc, where one that
// nobody waits for stays.
func TestOrphansAreWaitedFor(t *testing.T) {
	testneeds.Root(t)
	out, err := exec.Command("sh", "-c", "setsid sh -c 'echo $$' & wait").Output()
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(out))
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + pid); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %s has ended and is still there", pid)
		}
	}
}
