package netem

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"piecebench/netem/client"
)

// listenOn returns the port of a new listener and its file, for a child to hold.
func listenOn(t *testing.T, address string) (port int, file *os.File) {
	t.Helper()
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if file, err = listener.(*net.TCPListener).File(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().(*net.TCPAddr).Port, file
}

// hold starts a process that holds a listening socket until it is ended.
func hold(t *testing.T, file *os.File) (pid int, end func()) {
	t.Helper()
	child := exec.Command("sleep", "600")
	child.ExtraFiles = []*os.File{file}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	file.Close() // the child has its own
	end = func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}
	t.Cleanup(end)
	return child.Process.Pid, end
}

// A file system in user space listens on no port of its own.
func TestProcsHaveTheFurtherCommandsOfAServer(t *testing.T) {
	port, file := listenOn(t, "127.0.0.1:0")
	holder, end := hold(t, file)
	copied := filepath.Join(t.TempDir(), "filesystem")
	if out, err := exec.Command("cp", "/bin/sleep", copied).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	further := exec.CommandContext(t.Context(), copied, "600")
	if err := further.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = further.Process.Kill(); _ = further.Wait() })
	server, err := ParseServer(fmt.Sprintf("%d=other+filesystem", port))
	if err != nil {
		t.Fatal(err)
	}
	reader, err := newProcReader([]Server{server})
	if err != nil {
		t.Fatal(err)
	}
	want := []int{holder, further.Process.Pid}
	slices.Sort(want)
	for range 2 {
		procs, err := reader.read()
		if err != nil || !slices.Equal(procs.Procs[0].PIDs, want) {
			t.Errorf("processes %v, %v; want %v", procs.Procs[0].PIDs, err, want)
		}
	}
	end()
	if procs, err := reader.read(); err != nil || procs.Procs[0].Problem != client.NothingListens {
		t.Errorf("without the one that listens: %+v, %v", procs.Procs[0], err)
	}
}

func TestProcsFollowsAServerThatIsStartedAgain(t *testing.T) {
	port, file := listenOn(t, "127.0.0.1:0")
	first, end := hold(t, file)
	reader, err := newProcReader([]Server{{Port: port}})
	if err != nil {
		t.Fatal(err)
	}
	pids := func() []int {
		t.Helper()
		procs, err := reader.read()
		if err != nil {
			t.Fatal(err)
		}
		return procs.Procs[0].PIDs
	}
	for range 2 { // the second from what the first found
		if got := pids(); !slices.Equal(got, []int{first}) {
			t.Errorf("processes %v, want %d", got, first)
		}
	}
	end()
	if got := pids(); len(got) != 0 {
		t.Errorf("processes %v after the server's end", got)
	}
	_, file = listenOn(t, fmt.Sprintf("127.0.0.1:%d", port))
	second, _ := hold(t, file)
	if got := pids(); !slices.Equal(got, []int{second}) {
		t.Errorf("processes %v after a new start, want %d", got, second)
	}
}
