package lab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/piece"
	"piecebench/servers"
)

// server returns a server as a part of the lab.
func (l Lab) server(cfg Config, r servers.Recipe) (part, error) {
	p := part{name: r.Name, namespace: l.ServerNamespace(), port: r.Port, argv: l.expand(cfg, r, r.Run)}
	m, err := piece.Load(filepath.Join(cfg.Data, piece.ManifestName))
	if err != nil {
		return p, err
	}
	p.piece = strings.ReplaceAll(r.URL("127.0.0.1"), "{piece}", m.Pieces[0].CID)
	uid, gid, err := cfg.serverUser(r)
	if err != nil {
		return p, err
	}
	if len(r.Load) > 0 {
		p.load = l.expand(cfg, r, r.Load)
	}
	if !r.Root {
		p.argv = asUser(uid, gid, p.argv...)
		if p.load != nil {
			p.load = asUser(uid, gid, p.load...)
		}
	}
	return p, nil
}

// serverUser returns whom a server runs as.
func (cfg Config) serverUser(r servers.Recipe) (uid, gid uint32, err error) {
	if r.Root {
		return 0, 0, nil
	}
	return cfg.unprivileged(cfg.Data, cfg.gateway(), filepath.Join(cfg.Servers, r.Name))
}

// expand puts this lab's values into a command of a recipe.
func (l Lab) expand(cfg Config, r servers.Recipe, argv []string) []string {
	values := strings.NewReplacer(
		servers.Folder, filepath.Join(cfg.Servers, r.Name),
		servers.Data, cfg.Data,
		servers.State, cfg.stateDir(r),
		servers.Python, r.PythonDir(),
		servers.RunDir, l.runDir(r),
		servers.Bin, cfg.Bin,
		servers.Port, strconv.Itoa(r.Port),
		servers.Address, serverControl,
		servers.Store, cfg.Store,
	)
	expanded := make([]string, len(argv))
	for i, arg := range argv {
		expanded[i] = values.Replace(arg)
	}
	return expanded
}

// runDirs holds the folders of the servers' own that go with the lab.
func (l Lab) runDirs() string { return filepath.Join(l.Dir(), "run") }

func (l Lab) runDir(r servers.Recipe) string { return filepath.Join(l.runDirs(), r.Name) }

// stateDir is the folder of a server's own that outlives the lab.
func (cfg Config) stateDir(r servers.Recipe) string { return filepath.Join(cfg.Data, r.Name) }

// makeFolders makes what a server writes to. What outlives the lab is locked for as long
// as a process has the file that it returns.
func (l Lab) makeFolders(cfg Config, r servers.Recipe) (lock *os.File, err error) {
	uid, gid, err := cfg.serverUser(r)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(l.runDir(r), 0o755); err != nil {
		return nil, err
	}
	if err := os.Chown(l.runDir(r), int(uid), int(gid)); err != nil || !r.Uses(servers.State) {
		return nil, err
	}
	if err := os.MkdirAll(cfg.stateDir(r), 0o755); err != nil {
		return nil, err
	}
	if lock, err = lockData(cfg.stateDir(r), r.Name); err != nil {
		return nil, err
	}
	return lock, own(cfg.stateDir(r), uid, gid)
}

// answers says whether a server delivers the first byte of a piece. Some listen before
// they can.
func (p part) answers() bool {
	if p.piece == "" {
		return true
	}
	request, err := http.NewRequest(http.MethodGet, p.piece, nil)
	if err != nil {
		return false
	}
	request.Header.Set("Range", "bytes=0-0")
	transport := http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return dialIn(ctx, p.namespace, network, address)
	}}
	client := http.Client{Timeout: 5 * time.Second, Transport: &transport} // and no proxy
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusPartialContent
}

// dialIn connects to an IP address in a network namespace. A socket stays in the one
// that its thread was in when it was made.
func dialIn(ctx context.Context, namespace, network, address string) (net.Conn, error) {
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer own.Close()
	other, err := os.Open(filepath.Join(namespaces, namespace))
	if err == nil {
		defer other.Close()
		err = unix.Setns(int(other.Fd()), unix.CLONE_NEWNET)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("network namespace %s: %w", namespace, err)
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	// A thread that cannot go back stays locked, and so ends with its goroutine.
	if unix.Setns(int(own.Fd()), unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread()
	}
	return conn, err
}
