package ending_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/internal/contained"
	"piecebench/internal/ending"
)

const asProgram = "ENDING_TEST_PROGRAM"

// TestMain is also the program that the tests send signals to: it says when it
// can be ended, and what it was ended by.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(contained.Run(m.Run))
	}
	ctx, stop := ending.Context(context.Background())
	defer stop()
	fmt.Fprintln(os.Stderr, "ready")
	go func() {
		for { // until nobody reads it any more
			if _, err := fmt.Println("output"); err != nil {
				fmt.Fprintln(os.Stderr, "nobody reads")
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	go func() { // the test's end
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	<-ctx.Done()
	fmt.Fprintln(os.Stderr, "in order:", context.Cause(ctx))
}

// started is the program, run by argv before it.
type started struct {
	*exec.Cmd
	stdout io.ReadCloser
	stderr *bufio.Reader
}

func start(t *testing.T, argv ...string) started {
	t.Helper()
	argv = append(argv, os.Args[0])
	p := started{Cmd: exec.Command(argv[0], argv[1:]...)}
	p.Env = append(os.Environ(), asProgram+"=1")
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdout, err = p.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stderr = bufio.NewReader(stderr)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = p.Wait()
	})
	if line, err := p.stderr.ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	return p
}

// wantOrder sends a signal and checks that the program ends in order for it.
func (p started) wantOrder(t *testing.T, s unix.Signal) {
	t.Helper()
	p.send(t, s)
	if line, _ := p.stderr.ReadString('\n'); line != fmt.Sprintf("in order: %s signal received\n", s) {
		t.Errorf("after signal %d (%s) the program does not end in order: %q", s, s, line)
	}
}

func (p started) send(t *testing.T, s unix.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func TestNoSignalEndsAProgramOutOfOrder(t *testing.T) {
	for s := unix.Signal(1); s <= 64; s++ {
		switch s {
		case unix.SIGKILL, unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, 32, 33, 34: // cannot be caught, stop, or are the C library's
			continue
		}
		p := start(t)
		p.send(t, s)
		p.send(t, unix.SIGTERM) // for those that end nothing
		if line, _ := p.stderr.ReadString('\n'); !strings.HasPrefix(line, "in order: ") {
			t.Errorf("after signal %d (%s) the program does not end in order: %q", s, s, line)
		}
	}
}

func TestAClosedPipeDoesNotEndAProgram(t *testing.T) {
	p := start(t)
	p.stdout.Close()
	if line, _ := p.stderr.ReadString('\n'); line != "nobody reads\n" {
		t.Errorf("a closed pipe ended the program: %q", line)
	}
	p.wantOrder(t, unix.SIGTERM)
}

func TestNohupStaysInForce(t *testing.T) {
	p := start(t, "sh", "-c", `trap "" HUP; exec "$0"`)
	p.send(t, unix.SIGHUP)
	p.wantOrder(t, unix.SIGTERM)
}
