package probe

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"piecebench/internal/testneeds"
)

// Other people's servers of files are right. nginx and the gateway are in the gateway's tests.
func TestServersOfFilesHaveNoFault(t *testing.T) {
	testneeds.Program(t, "caddy", "lighttpd")
	for _, c := range []struct {
		program, configuration string
		arguments              []string
	}{
		{"caddy", "{\n admin off\n auto_https off\n}\nhttp://127.0.0.1:%d {\n root * %s\n file_server\n}\n", []string{"run", "--adapter", "caddyfile", "--config"}},
		{"lighttpd", "server.bind = \"127.0.0.1\"\nserver.port = %d\nserver.document-root = \"%s\"\n", []string{"-D", "-f"}},
	} {
		t.Run(c.program, func(t *testing.T) {
			p := newStored(t)
			dir := t.TempDir()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := l.Addr().(*net.TCPAddr)
			l.Close()
			configuration := filepath.Join(dir, "configuration")
			root := filepath.Join(dir, "root")
			for _, err := range []error{
				os.MkdirAll(filepath.Join(root, "piece"), 0o755),
				os.WriteFile(filepath.Join(root, "piece", p.cid.V1().String()), p.data, 0o644),
				os.WriteFile(configuration, fmt.Appendf(nil, c.configuration, address.Port, root), 0o644),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			server := exec.CommandContext(t.Context(), c.program, append(c.arguments, configuration)...)
			server.Env = append(os.Environ(), "HOME="+dir)
			server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
			for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				conn, err := net.Dial("tcp", address.String())
				if err == nil {
					conn.Close()
					break
				}
				if time.Now().After(deadline) {
					t.Fatal(err)
				}
			}
			r := probed(t, Options{URL: fmt.Sprintf("http://%s/piece/{piece}", address), CID: p.cid.String()})
			expect(t, r, map[string]Verdict{"range": Pass, "bytes": Pass, "parallel": Pass}, "")
			if t.Failed() || testing.Verbose() {
				_ = Write(os.Stderr, r)
			}
		})
	}
}
