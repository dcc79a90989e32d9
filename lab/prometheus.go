package lab

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// How much Prometheus keeps of the runs before.
const (
	retentionTime = "1y"
	retentionSize = "2GB"
)

// startPrometheus starts Prometheus in the clients' namespace. There it reaches the
// servers over the control network, and k6 reaches it. A forwarder makes it visible
// on the host's loopback. s records what has started; an error says what is missing.
func (l Lab) startPrometheus(c commands, s *State) error {
	without := func(err error) error { return fmt.Errorf("no live metrics in this lab: %w", err) }
	cfg := s.Prometheus
	if _, err := exec.LookPath("prometheus"); err != nil {
		return without(errors.New("prometheus is missing: install the package prometheus (scripts/setup does)"))
	}
	if err := os.MkdirAll(cfg.Data, 0o755); err != nil {
		return without(err)
	}
	lock, err := lockData(cfg.Data, "Prometheus")
	if err != nil {
		return without(err)
	}
	defer lock.Close()
	uid, gid, err := s.unprivileged(cfg.Data, filepath.Dir(cfg.Conf), s.piecebench())
	if err == nil {
		err = own(cfg.Data, uid, gid)
	}
	if err != nil {
		return without(err)
	}
	prometheus := part{name: "prometheus", namespace: l.ClientNamespace(), port: prometheusPort, files: []*os.File{lock},
		argv: asUser(uid, gid, "prometheus", "--config.file", cfg.Conf, "--storage.tsdb.path", cfg.Data,
			"--storage.tsdb.retention.time", retentionTime, "--storage.tsdb.retention.size", retentionSize,
			"--web.listen-address", fmt.Sprintf("127.0.0.1:%d", prometheusPort),
			"--web.enable-remote-write-receiver", "--enable-feature=native-histograms", "--log.level=warn")}
	if err := l.start(c, prometheus); err != nil {
		return without(err)
	}
	listener, taken := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", cfg.Port))
	if taken != nil {
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return without(err)
		}
	}
	defer listener.Close()
	forward := asUser(uid, gid, s.piecebench(), "lab", "forward", fmt.Sprintf("127.0.0.1:%d", prometheusPort))
	if err := l.startForwarder(c, listener.(*net.TCPListener), forward); err != nil {
		return without(err)
	}
	url := fmt.Sprintf("http://%s", listener.Addr())
	if err := l.awaitReady(url, prometheus); err != nil {
		return without(err)
	}
	s.PrometheusRuns, s.PrometheusURL = true, url
	if taken != nil {
		return fmt.Errorf("this lab's Prometheus is at %s instead: %w", url, taken)
	}
	return nil
}

// lockData refuses a folder that a program of another lab has open. Prometheus can do
// so itself, but not every version has the flag. The lock lasts as long as a process has
// the file.
func lockData(dir, program string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "piecebench.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s belongs to the %s of another lab that is up", dir, program)
	}
	return file, nil
}

// own gives a folder, and everything in it, to a user. Another user's Prometheus may
// have written it.
func own(dir string, uid, gid uint32) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(uid), int(gid))
	})
}

// startForwarder starts argv in the clients' namespace with a listener on the
// host as descriptor 3. A socket stays in the namespace where it was made,
// whoever holds it, so that one process sees both, and ends with the others of
// its namespace.
func (l Lab) startForwarder(c commands, listener *net.TCPListener, argv []string) error {
	file, err := listener.File()
	if err != nil {
		return err
	}
	defer file.Close()
	return l.start(c, part{name: "forwarder", namespace: l.ClientNamespace(), argv: argv, files: []*os.File{file}})
}

// awaitReady waits until Prometheus has read its database: it listens before.
func (l Lab) awaitReady(url string, p part) error {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		response, err := client.Get(url + "/-/ready")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if !p.listening() {
			return fmt.Errorf("prometheus ended; the end of its log: %s", lastLines(filepath.Join(l.Dir(), p.logName()), 3))
		}
	}
	return fmt.Errorf("prometheus is not ready after %s; its log: %s", startTimeout, filepath.Join(l.Dir(), p.logName()))
}
