package netem

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// One client that does not read and one of which the server wants nothing: TCP
// knows that the first waits for its client. Those that come
// around the link do not count.
func TestSocketsTellWhomAConnectionWaitsFor(t *testing.T) {
	l := newLab(t)
	a := l.start(Auto, "--ports", "9101")
	a.set("100mbit/5ms")
	var listener net.Listener
	l.inNamespace(l.servers, func() {
		var err error
		if listener, err = net.Listen("tcp", ":9101"); err != nil {
			t.Error(err)
		}
	})
	defer listener.Close()
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
