package host

import (
	"net"
	"slices"
	"testing"

	"github.com/prometheus/procfs"
)

func TestSocketsThatListenAreFoundAndOthersNot(t *testing.T) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("SKIPPED %s: %v", address, err)
			continue
		}
		at := listener.Addr().(*net.TCPAddr)
		client, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		has := func(port int) bool {
			sockets, err := ListeningSockets(proc)
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(sockets, func(s ListeningSocket) bool { return s.Port == port && s.Address.Equal(at.IP) && s.Inode != 0 })
		}
		if !has(at.Port) {
			t.Errorf("%s listens and is not found", at)
		}
		if own := client.LocalAddr().(*net.TCPAddr).Port; has(own) {
			t.Errorf("a connected socket on port %d is found", own)
		}
		listener.Close()
		if has(at.Port) {
			t.Errorf("%s is closed and is found", at)
		}
	}
}
