package calibrate

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/bench/result"
	"piecebench/host"
	"piecebench/internal/plain"
	"piecebench/internal/receive"
)

// download measures the goodput of parallel streams of one URL: streams start
// together, and what arrives is counted after the ramp, for the window.
func download(ctx context.Context, blob string, streams int, times phases) (result.StreamsCapacity, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all connections
	failed := make(chan error, streams)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for range streams {
		running.Add(1)
		go func() {
			defer running.Done()
			if err := stream(ctx, blob, &all); ctx.Err() == nil {
				failed <- fmt.Errorf("calibration download from %s: %s", blob, plain.Error(err))
			}
		}()
	}
	wait := func(d time.Duration) error {
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
	if err := wait(times.ramp); err != nil {
		return result.StreamsCapacity{}, err
	}
	// The clock is read before the first counters and after the last. If this thread waits
	// for a CPU in between, the goodput is too low, but never too high.
	start, busyBefore := time.Now(), host.ReadCPU()
	before, err := all.received()
	if err != nil {
		return result.StreamsCapacity{}, cmp.Or(ctx.Err(), err)
	}
	if err := wait(times.window); err != nil {
		return result.StreamsCapacity{}, err
	}
	after, err := all.received()
	if err != nil {
		return result.StreamsCapacity{}, cmp.Or(ctx.Err(), err)
	}
	elapsed := time.Since(start)
	return result.StreamsCapacity{
		Streams:     streams,
		GoodputBits: int64(float64(after-before) * 8 / elapsed.Seconds()),
		HostCPU:     host.ReadCPU().BusySince(busyBefore),
	}, nil
}

// connections are the connections of a measurement.
type connections struct {
	mu   sync.Mutex
	open []syscall.RawConn
}

func (c *connections) add(conn syscall.RawConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, conn)
}

// received returns the number of bytes that TCP has received. TCP counts them when they
// arrive. A busy machine reads them later, and then faster than the link delivers them.
func (c *connections) received() (bytes int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		info, err := tcpInfo(conn)
		if err != nil {
			return 0, err
		}
		bytes += int64(info.Bytes_received)
	}
	return bytes, nil
}

// tcpInfo returns the kernel's information about a connection.
func tcpInfo(conn syscall.RawConn) (info *unix.TCPInfo, err error) {
	if failed := conn.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); failed != nil {
		return nil, failed
	}
	return info, err
}

// maxHead is the maximum size of a response head, in bytes.
const maxHead = 64 << 10

// stream requests the blob, and drops its body in the kernel until ctx ends. It adds its
// connection to all. The connection stays open until ctx ends. stream returns before that
// only with an error.
func stream(ctx context.Context, blob string, all *connections) error {
	target, err := url.Parse(blob)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", target.Host)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	all.add(raw)
	request, err := http.NewRequest(http.MethodGet, blob, nil)
	if err != nil {
		return err
	}
	if err := request.Write(conn); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, maxHead)), request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	for {
		if n, err := receive.Drop(raw, 4<<20); err != nil {
			return err
		} else if n == 0 {
			return io.ErrUnexpectedEOF
		}
	}
}
