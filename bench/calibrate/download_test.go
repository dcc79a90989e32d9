package calibrate

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pacedServer sends without an end to each of its connections, at a rate that the
// kernel keeps. Each connection is reported to accepted.
func pacedServer(t *testing.T, bitsPerConnection int) (url string, accepted <-chan struct{}) {
	t.Helper()
	control := func(_, _ string, raw syscall.RawConn) (err error) {
		if failed := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, bitsPerConnection/8)
			if err == nil { // a segment of loopback is half a second of the rate
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 1400)
			}
		}); failed != nil {
			return failed
		}
		return err
	}
	listener, err := (&net.ListenConfig{Control: control}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected := make(chan struct{}, 1000)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			connected <- struct{}{}
			serving.Go(func() {
				_, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", int64(blobBytes))
				for err == nil {
					_, err = conn.Write(make([]byte, 64<<10))
				}
			})
		}
	})
	t.Cleanup(serving.Wait)
	t.Cleanup(func() { listener.Close() })
	return "http://" + listener.Addr().String(), connected
}

const (
	starvedURL  = "STARVED_DOWNLOAD_URL"
	starvedRamp = time.Second
)

// TestStarvedDownload is the process that TestBytesThatWaitedForTheReceiverDoNotCount
// stops.
func TestStarvedDownload(t *testing.T) {
	url := os.Getenv(starvedURL)
	if url == "" {
		return
	}
	m, err := download(context.Background(), url, 8, phases{starvedRamp, time.Second})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("got %d\n", m.GoodputBits)
}

// A receiver that waits for a CPU leaves what arrives in its sockets. It reads that at
// the start of its window.
func TestBytesThatWaitedForTheReceiverDoNotCount(t *testing.T) {
	const streams, perStream = 8, 1_000_000
	url, accepted := pacedServer(t, perStream)
	receiver := exec.Command(os.Args[0], "-test.run=^TestStarvedDownload$")
	receiver.Env = append(os.Environ(), starvedURL+"="+url)
	receiver.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	receiver.Stdout, receiver.Stderr = &said, &said
	if err := receiver.Start(); err != nil {
		t.Fatal(err)
	}
	for range streams {
		<-accepted
	}
	for _, step := range []func() error{
		func() error { return receiver.Process.Signal(unix.SIGSTOP) },
		func() error { time.Sleep(starvedRamp + starvedRamp/2); return nil }, // beyond the ramp's end
		func() error { return receiver.Process.Signal(unix.SIGCONT) },
		receiver.Wait,
	} {
		if err := step(); err != nil {
			t.Fatalf("%v\n%s", err, said.String())
		}
	}
	_, text, _ := strings.Cut(said.String(), "got ")
	got, err := strconv.Atoi(strings.Fields(text + " none")[0])
	if err != nil {
		t.Fatal(said.String())
	}
	// The sockets hold more than the rate brings within the window. A little more than the
	// rate does come: what the server sends at once when the receiver reads again.
	if got <= 0 || got > 1.5*streams*perStream {
		t.Errorf("goodput %.2f Mbit/s of streams that get %.2f", float64(got)/1e6, streams*perStream/1e6)
	}
}
