package netem

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sync/errgroup"

	"piecebench/netem/client"
)

// withServer returns a lab with a link, and a server that the agent watches.
func withServer(t *testing.T) (*testLab, *testAgent, net.Listener) {
	t.Helper()
	l := newLab(t)
	a := l.start(Auto, "--ports", "9101")
	a.set("100mbit/5ms")
	return l, a, l.listen(":9101")
}

// One client that does not read and one of which the server wants nothing: TCP
// knows that the first waits for its client. Those that come
// around the link do not count.
func TestSocketsTellWhomAConnectionWaitsFor(t *testing.T) {
	l, a, listener := withServer(t)
	for _, around := range []struct{ from, to string }{{l.servers, "127.0.0.1:9101"}, {l.clients, "198.18.1.2:9101"}} {
		l.inNamespace(around.from, func() {
			conn, err := net.Dial("tcp4", around.to)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { conn.Close() })
		})
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	for i := range 2 {
		client, err := l.dial("198.18.0.2:9101", 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		server, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		if i == 0 {
			go server.Write(make([]byte, 256<<20)) // ends with the connection
		}
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		s, err := a.Sockets(context.Background(), 9101)
		if err != nil {
			t.Fatal(err)
		}
		if s.Established == 2 && s.Waiting == 1 && s.ReceiverLimitedSeconds > 0.5*s.BusySeconds && s.SentBytes > 0 && s.RTTMs >= 5 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v; want 2 established, 1 waiting, mostly for its client", s)
		}
	}
	if _, err := a.Sockets(context.Background(), 9102); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("a port that is not the servers': %v", err)
	}
}

// A connection whose acknowledgements do not come is seen, and how long it has
// waited; one that nobody holds up is not.
func TestSocketsShowAConnectionWithoutProgress(t *testing.T) {
	l, a, listener := withServer(t)
	conn, err := l.dial("198.18.0.2:9101", 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var ends errgroup.Group
	ends.Go(func() error { io.Copy(io.Discard, conn); return nil })
	ends.Go(func() error { server.Write(make([]byte, 1<<30)); return nil }) // ends with the connection
	defer ends.Wait()
	defer server.Close()
	defer conn.Close()
	until := func(what string, seen func(client.Sockets) bool) {
		t.Helper()
		for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			s, err := a.Sockets(context.Background(), 9101)
			if err != nil {
				t.Fatal(err)
			}
			if seen(s) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %+v", what, s)
			}
		}
	}
	moving := func(s client.Sockets) bool { return s.SentBytes > 1<<20 && s.Stalled == 0 && s.OldestUnackedMs < 200 }
	until("a connection that moves", moving)
	run(t, "ip", "-n", l.clients, "route", "add", "blackhole", "198.18.0.2")
	until("one that is not acknowledged", func(s client.Sockets) bool { return s.Stalled == 1 && s.OldestUnackedMs > 1000 })
	run(t, "ip", "-n", l.clients, "route", "del", "blackhole", "198.18.0.2")
	until("one that moves again", moving)
}

func TestAWaitIsOneForAnAcknowledgement(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		what string
		info netlink.TCPInfo // times as the kernel has them
		want time.Duration
	}{
		{"data sent just now, after the server thought for two seconds", netlink.TCPInfo{Last_ack_recv: 2000, Last_data_sent: 4, Rto: 240_000}, 4 * ms},
		{"more sent while acknowledgements come", netlink.TCPInfo{Last_ack_recv: 8, Last_data_sent: 80, Rto: 240_000}, 8 * ms},
		{"before the first timeout", netlink.TCPInfo{Last_ack_recv: 300, Last_data_sent: 220, Rto: 240_000}, 220 * ms},
		{"sent again at three timeouts: 200, 400 and 800 ms", netlink.TCPInfo{Last_ack_recv: 1500, Last_data_sent: 50, Rto: 1_600_000, Backoff: 3}, 1450 * ms},
		{"never longer than since an acknowledgement", netlink.TCPInfo{Last_ack_recv: 900, Last_data_sent: 50, Rto: 1_600_000, Backoff: 3}, 900 * ms},
	} {
		if got := waitOf(&test.info).time; got != test.want {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
	}
}

func TestALinkExplainsSomeWaiting(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		what        string
		wait        wait
		rate        int64
		connections int
		want        time.Duration
	}{
		{"three round trips", wait{rtt: 100 * ms}, 0, 1, 300 * ms},
		{"TCP's least timeout", wait{rtt: 5 * ms}, 0, 1, 200 * ms},
		{"a thousandth of 10 Gbit/s", wait{rtt: 40 * ms, bytes: 125_000}, 10e9, 1000, 220 * ms},
	} {
		if got := test.wait.explained(test.rate, test.connections); got != test.want {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
	}
}
