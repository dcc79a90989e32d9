package calibrate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"piecebench/bench/result"
	"piecebench/host"
	"piecebench/internal/plain"
	"piecebench/internal/receive"
)

// download measures the goodput of parallel streams of one URL: streams start
// together, ramp is left out, then bytes are counted for window.
func download(ctx context.Context, blob string, streams int, ramp, window time.Duration) (result.StreamsCapacity, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var received atomic.Int64
	failed := make(chan error, streams)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for range streams {
		running.Add(1)
		go func() {
			defer running.Done()
			if err := stream(ctx, blob, &received); ctx.Err() == nil {
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
	if err := wait(ramp); err != nil {
		return result.StreamsCapacity{}, err
	}
	start, before, busyBefore := time.Now(), received.Load(), host.ReadCPU()
	if err := wait(window); err != nil {
		return result.StreamsCapacity{}, err
	}
	elapsed, bytes := time.Since(start), received.Load()-before
	return result.StreamsCapacity{
		Streams:     streams,
		GoodputBits: int64(float64(bytes) * 8 / elapsed.Seconds()),
		HostCPU:     host.ReadCPU().BusySince(busyBefore),
	}, nil
}

// maxHead is the most that a response head may take, in bytes.
const maxHead = 64 << 10

// stream asks for the blob and drops its body in the kernel until ctx ends,
// adding what came to received. It only returns early with an error.
func stream(ctx context.Context, blob string, received *atomic.Int64) error {
	target, err := url.Parse(blob)
	if err != nil {
		return err
	}
	dialed, err := (&net.Dialer{}).DialContext(ctx, "tcp", target.Host)
	if err != nil {
		return err
	}
	defer dialed.Close()
	defer context.AfterFunc(ctx, func() { dialed.Close() })()
	conn := dialed.(*net.TCPConn)
	request, err := http.NewRequest(http.MethodGet, blob, nil)
	if err != nil {
		return err
	}
	if err := request.Write(conn); err != nil {
		return err
	}
	head := bufio.NewReader(io.LimitReader(conn, maxHead))
	response, err := http.ReadResponse(head, request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	received.Add(int64(head.Buffered()))
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	for {
		n, err := receive.Drop(raw, 4<<20)
		received.Add(int64(n))
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
	}
}
