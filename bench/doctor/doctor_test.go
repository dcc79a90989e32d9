package doctor

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"piecebench/bench/settings"
	"piecebench/piece/dataset"
)

// soundHost is a server of 8 cores without a fault, as root sees it, where the
// lab would be native; testdata/sound holds what its /proc and /sys say.
func soundHost(t *testing.T, given map[string]string) *Host {
	t.Helper()
	s, err := settings.FromText(given)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/sound")); err != nil {
		t.Fatal(err)
	}
	return &Host{
		Settings: s, Data: "/srv/data", PrometheusPort: 9090, GrafanaPort: 3000,
		Root: root, CPUs: 8, Descriptors: 1 << 20,
		LookPath: without("docker"),
		Run:      func(...string) (string, error) { return "", errors.New("not here") },
		Isolated: func(...string) error { return nil },
		Labs:     func() ([]Lab, error) { return nil, nil },
		Shaped:   func() ([]string, bool, error) { return nil, false, nil },
		ReadSpeed: func(string) (float64, error) {
			return 2e9, nil
		},
		Pause: func() {},
	}
}

// without finds every program but these.
func without(missing ...string) func(string) (string, error) {
	return func(program string) (string, error) {
		if slices.Contains(missing, program) {
			return "", errors.New("not found")
		}
		return "/usr/bin/" + program, nil
	}
}

// withEngine makes it a host whose containers work; said is what docker prints
// for the listing of that name (ps, network).
func withEngine(said map[string]string) func(*Host) {
	return func(h *Host) {
		h.LookPath = without()
		h.Run = func(argv ...string) (string, error) { return said[argv[1]], nil }
	}
}

func (h *Host) write(t *testing.T, files map[string]string) {
	t.Helper()
	for path, text := range files {
		path = filepath.Join(h.Root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASoundHostIsClean(t *testing.T) {
	for _, containers := range []bool{false, true} {
		h := soundHost(t, nil)
		h.Pause = func() { h.write(t, map[string]string{"proc/stat": "cpu  100001 0 100001 8000798 0 0 0 0 0 0\n"}) }
		if containers {
			withEngine(nil)(h)
		}
		for _, f := range Examine(h) {
			if f.Severity != Clean && f.Check != "runtime" {
				t.Errorf("containers %v: %+v", containers, f)
			}
		}
	}
}

const (
	route   = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	vpn     = "tun3\t000012C6\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"            // 198.18.0.0/16
	ownNet  = "br-0123456789ab\t000012C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n" // 198.18.0.0/24
	sockets = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	on9090  = "   0: 0100007F:2382 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1000 1 0000000000000000 100 0 0 10 0\n"
)

// stat returns the line of /proc/PID/stat of a process that has had so many ticks.
func stat(pid, name, ticks string) string {
	return pid + " (" + name + ") R 1 1 1 0 -1 0 0 0 0 0 " + ticks + " 0 0 0 20 0 1 0 10 1000000 100 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
}

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		check, name string
		given       map[string]string // settings
		files       map[string]string // that the host has otherwise
		pause       map[string]string // files that change while it is looked at
		host        func(*Host)
		severity    Severity
		evidence    string
		fix         string
	}{
		{check: "runtime", name: "no docker", severity: Note, evidence: "native, because there is no docker command"},
		{check: "runtime", name: "containers asked for in vain", given: map[string]string{"RUNTIME": "compose"}, severity: Blocks, evidence: "no docker command", fix: "install Docker"},
		{check: "runtime", name: "an engine that does not answer", host: func(h *Host) { h.LookPath = without() }, severity: Note, evidence: "no Docker engine answers"},
		{check: "runtime", name: "an engine", host: withEngine(nil), severity: Note, evidence: "containers"},

		{check: "root", name: "not root", host: func(h *Host) { h.UID = 1000 }, severity: Blocks, evidence: "1000", fix: "sudo make bench"},
		{check: "root", name: "not root, with an engine", host: func(h *Host) { withEngine(nil)(h); h.UID = 1000 }, severity: Clean},
		{check: "programs", name: "no nginx", host: func(h *Host) { h.LookPath = without("docker", "nginx") }, severity: Blocks, evidence: "nginx (package nginx-light)", fix: "scripts/setup"},
		{check: "programs", name: "no prometheus", host: func(h *Host) { h.LookPath = without("docker", "prometheus") }, severity: Note, evidence: "no live metrics", fix: "scripts/setup"},

		{check: "rate", name: "no sch_tbf", host: lacking("tbf"), severity: Blocks, evidence: "sch_tbf", fix: "modprobe sch_tbf"},
		{check: "rate", name: "not root", host: func(h *Host) { h.UID = 1000 }, severity: Unknown, evidence: "only root"},
		{check: "rate", name: "no tc", host: func(h *Host) { h.LookPath = without("tc") }, severity: Unknown, evidence: "tc is not here"},
		{check: "delay", name: "no sch_netem", host: lacking("netem"), severity: Note, evidence: "link agent makes the delay", fix: "modprobe sch_netem"},
		{check: "delay", name: "no sch_netem on Ubuntu", host: lacking("netem"), files: map[string]string{"etc/os-release": "ID=ubuntu\n"}, severity: Note, fix: "apt-get install linux-modules-extra-6.1.0-9-amd64 && modprobe sch_netem"},
		{check: "delay", name: "no sch_netem, no tun", host: lacking("netem", "tun"), severity: Blocks, evidence: "nor can the link agent", fix: "modprobe tun"},

		{check: "ports", name: "taken, native", files: map[string]string{"proc/net/tcp": sockets + on9090}, severity: Note, evidence: "127.0.0.1:9090"},
		{check: "ports", name: "taken, containers", files: map[string]string{"proc/net/tcp": sockets + on9090}, host: withEngine(nil), severity: Blocks, evidence: "9090", fix: "PROMETHEUS_PORT="},
		{check: "ports", name: "taken by our own", files: map[string]string{"proc/net/tcp": sockets + on9090}, host: withEngine(map[string]string{"ps": "127.0.0.1:9090->9090/tcp"}), severity: Clean},
		{check: "ports", name: "connected, not listening", files: map[string]string{"proc/net/tcp": sockets + strings.Replace(on9090, " 0A ", " 01 ", 1)}, host: withEngine(nil), severity: Clean},

		{check: "addresses", name: "a VPN", files: map[string]string{"proc/net/route": route + vpn}, host: withEngine(nil), severity: Blocks, evidence: "198.18.0.0/16 over tun3", fix: "RUNTIME=native"},
		{check: "addresses", name: "a VPN, native", files: map[string]string{"proc/net/route": route + vpn}, severity: Clean},
		{check: "addresses", name: "the lab's own", files: map[string]string{"proc/net/route": route + ownNet}, host: withEngine(map[string]string{"network": "br-0123456789ab\nbr-ffffffffffff"}), severity: Clean},

		{check: "conntrack", name: "on the path", files: map[string]string{"proc/sys/net/bridge/bridge-nf-call-iptables": "1\n"}, host: withEngine(nil), severity: Note, fix: "bridge-nf-call-iptables=0"},
		{check: "conntrack", name: "full", files: map[string]string{"proc/sys/net/bridge/bridge-nf-call-iptables": "1\n", "proc/sys/net/netfilter/nf_conntrack_count": "64000\n", "proc/sys/net/netfilter/nf_conntrack_max": "65536\n"},
			host: withEngine(nil), severity: Distorts, evidence: "1536 more"},
		{check: "packet backlog", name: "the kernel's own", files: map[string]string{"proc/sys/net/core/netdev_max_backlog": "1000\n"}, host: withEngine(nil), severity: Distorts, fix: "netdev_max_backlog=100000"},
		{check: "packet backlog", name: "raised", files: map[string]string{"proc/sys/net/core/netdev_max_backlog": "100000\n"}, host: withEngine(nil), severity: Clean},
		{check: "packet backlog", name: "native", files: map[string]string{"proc/sys/net/core/netdev_max_backlog": "1000\n"}, severity: Clean},
		{check: "conntrack", name: "native", files: map[string]string{"proc/sys/net/bridge/bridge-nf-call-iptables": "1\n"}, severity: Clean},

		{check: "descriptors", name: "few", host: func(h *Host) { h.Descriptors = 1024 }, severity: Blocks, evidence: "1000 clients need 2100", fix: "prlimit"},
		{check: "descriptors", name: "few, for few clients", given: map[string]string{"CONCURRENCY": "100"}, host: func(h *Host) { h.Descriptors = 1024 }, severity: Clean},

		{check: "labs", name: "one that is up", host: havingLab(Lab{"default", true}), severity: Note, evidence: "default", fix: "make down"},
		{check: "labs", name: "one that crashed", host: havingLab(Lab{"default", true}, Lab{"bench", false}), severity: Distorts, evidence: "lab bench is there in part", fix: "make down"},

		{check: "link agent", name: "one that runs", host: shapes(true), severity: Note, evidence: "shapes eth1"},
		{check: "link agent", name: "one that was killed", host: shapes(false), severity: Distorts, evidence: "left its link on eth1", fix: "netem-agent --restore"},

		{check: "cpus", name: "two", host: func(h *Host) { h.CPUs = 2 }, severity: Distorts, evidence: "2 CPUs", fix: "4 CPUs"},
		{check: "governor", name: "one CPU", files: map[string]string{"sys/devices/system/cpu/cpu3/cpufreq/scaling_governor": "powersave\n"}, severity: Distorts, evidence: "1 of 8 CPUs have the frequency governor powersave", fix: "echo performance"},
		{check: "clock source", name: "hpet", files: map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"}, severity: Distorts, evidence: "hpet",
			fix: "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"},
		{check: "clock source", name: "nothing better", files: map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "acpi_pm\n", "sys/devices/system/clocksource/clocksource0/available_clocksource": "acpi_pm\n"},
			severity: Distorts, fix: "hypervisor"},

		{check: "steal", name: "2 %", pause: map[string]string{"proc/stat": "cpu  100000 0 100000 8000784 0 0 0 16 0 0\n"}, severity: Distorts, evidence: "2.0 %"},
		{check: "steal", name: "none of this second", files: map[string]string{"proc/stat": "cpu  100000 0 100000 8000000 0 0 0 90000 0 0\n"}, pause: map[string]string{"proc/stat": "cpu  100000 0 100000 8000800 0 0 0 90000 0 0\n"}, severity: Clean},
		{check: "steal", name: "a counter that stands still", severity: Unknown},
		{check: "load", name: "a backup", pause: map[string]string{"proc/stat": "cpu  100080 0 100020 8000700 0 0 0 0 0 0\n", "proc/700/stat": stat("700", "backup", "1080")}, severity: Distorts,
			evidence: "12 % of all CPUs busy just now: backup 10 %"},
		{check: "load", name: "an idle machine", pause: map[string]string{"proc/stat": "cpu  100010 0 100010 8000780 0 0 0 0 0 0\n"}, severity: Clean},

		{check: "memory", name: "a dataset of 128 GiB", given: map[string]string{"PIECES": "2", "PIECE_SIZE": "32GiB"}, severity: Distorts, evidence: "57.2 GiB of memory are available; the dataset wants 127.5", fix: "PIECES=1"},
		{check: "memory", name: "sockets that may have it all", files: map[string]string{"proc/sys/net/ipv4/tcp_mem": "1 2 14000000\n"}, severity: Distorts, evidence: "sockets up to 53.4"},
		{check: "swap", name: "used", files: map[string]string{"proc/meminfo": "MemAvailable:   60000000 kB\nSwapTotal:       8388608 kB\nSwapFree:        7340032 kB\n"}, severity: Distorts, evidence: "1.00 GiB", fix: "swapoff"},
		{check: "swap", name: "not told", files: map[string]string{"proc/meminfo": ""}, severity: Unknown},
		{check: "huge pages", name: "always", files: map[string]string{"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"}, severity: Note, fix: "echo madvise"},
		{check: "page reporting", name: "offered", files: map[string]string{"sys/bus/virtio/drivers/virtio_balloon/virtio3/features": "01100100000000000000000000000000\n"}, severity: Note, fix: "free-page-reporting=off"},
		{check: "damon", name: "reclaims", files: map[string]string{"sys/module/damon_reclaim/parameters/enabled": "Y\n"}, severity: Distorts, fix: "echo N"},

		{check: "disk", name: "warm", host: func(h *Host) { h.ReadSpeed = func(string) (float64, error) { panic("it is read") } }, severity: Clean},
		{check: "disk", name: "tmpfs", given: cold, files: map[string]string{"proc/self/mountinfo": "21 1 0:40 / / rw - tmpfs tmpfs rw\n"}, severity: Blocks, evidence: "cannot be made cold"},
		{check: "disk", name: "zfs", given: cold, files: map[string]string{"proc/self/mountinfo": "21 1 0:40 / / rw - zfs tank rw\n"}, severity: Distorts, evidence: "ARC", fix: "primarycache"},
		{check: "disk", name: "no dataset yet", given: cold, severity: Unknown, evidence: "make bench makes it"},
		{check: "disk", name: "a dataset", given: cold, host: hasDataset(2e9), severity: Clean},
		{check: "disk", name: "a slow disk", given: cold, host: hasDataset(150e6), severity: Distorts, evidence: "1200 Mbit/s, and the fastest link carries 9564", fix: "LINKS=1gbit/40ms"},
	} {
		t.Run(c.check+"/"+c.name, func(t *testing.T) {
			h := soundHost(t, c.given)
			h.write(t, c.files)
			h.Pause = func() { h.write(t, c.pause) }
			if c.host != nil {
				c.host(h)
			}
			var got Finding // clean where the check is of the other lab
			for _, f := range Examine(h) {
				if f.Check == c.check {
					got = f
				}
			}
			if got.Severity != c.severity || !strings.Contains(got.Evidence, c.evidence) || !strings.Contains(got.Fix, c.fix) {
				t.Errorf("got  %+v\nwant {Severity:%d Evidence:...%s... Fix:...%s...}", got, c.severity, c.evidence, c.fix)
			}
			if got.Severity == Blocks && got.Fix == "" {
				t.Error("it blocks, and there is no fix")
			}
		})
	}
}

var cold = map[string]string{"CACHE": "cold"}

// lacking makes it a host whose kernel lacks these.
func lacking(kinds ...string) func(*Host) {
	return func(h *Host) {
		h.Isolated = func(argv ...string) error {
			for _, kind := range kinds {
				if slices.Contains(argv, kind) {
					return errors.New(kind + " is unknown")
				}
			}
			return nil
		}
	}
}

func havingLab(there ...Lab) func(*Host) {
	return func(h *Host) { h.Labs = func() ([]Lab, error) { return there, nil } }
}

func shapes(running bool) func(*Host) {
	return func(h *Host) { h.Shaped = func() ([]string, bool, error) { return []string{"eth1"}, running, nil } }
}

func TestTheWorstDecides(t *testing.T) {
	worst, names := Worst([]Finding{{Check: "a", Severity: Note}, {Check: "b", Severity: Blocks}, {Check: "c", Severity: Distorts}, {Check: "d", Severity: Blocks}})
	if worst != Blocks || !slices.Equal(names, []string{"b", "d"}) {
		t.Errorf("%d %v", worst, names)
	}
}

func TestFindingsAreToldTheWorstFirst(t *testing.T) {
	var text strings.Builder
	err := Write(&text, []Finding{
		{Check: "quiet"}, {Check: "small", Severity: Note, Evidence: "it is small"}, {Check: "silent"},
		{Check: "dark", Severity: Unknown, Evidence: "too dark"}, {Check: "bad", Severity: Blocks, Evidence: "it is bad", Fix: "fix it"},
		{Check: "odd", Severity: Distorts, Evidence: "it is odd"},
	})
	want := `BLOCKS    bad: it is bad
            -> fix it
DISTORTS  odd: it is odd
note      small: it is small
unknown   dark: too dark
clean     quiet, silent
`
	if diff := cmp.Diff(want, text.String()); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// hasDataset makes it a host with a dataset on a disk of that speed, in bytes
// per second.
func hasDataset(speed float64) func(*Host) {
	return func(h *Host) {
		h.Data = filepath.Join(h.Root, "data")
		m, err := dataset.Create(context.Background(), h.Data, dataset.Params{Pieces: 1, PieceSize: 1 << 20, Seed: 1}, io.Discard)
		if err != nil {
			panic(err)
		}
		h.ReadSpeed = func(path string) (float64, error) {
			if path != filepath.Join(h.Data, m.Pieces[0].Flat) {
				return 0, errors.New(path + " is not the dataset's")
			}
			return speed, nil
		}
	}
}

func TestReadSpeedIsThatOfTheDisk(t *testing.T) {
	name := filepath.Join(t.TempDir(), "piece")
	if err := os.WriteFile(name, make([]byte, 16<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	speed, err := readSpeed(name)
	if errors.Is(err, unix.EINVAL) {
		t.Skip("SKIPPED: the temporary folder's file system knows no O_DIRECT:", err)
	}
	if err != nil || speed <= 0 {
		t.Errorf("%v bytes/s, %v", speed, err)
	}
	if _, err := readSpeed(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there has a speed")
	}
}

// scripts/lab decides before anything is built, so it cannot ask the doctor.
func TestTheDoctorNamesAMissingEngineAsMakeDoes(t *testing.T) {
	script, err := os.ReadFile("../../scripts/lab")
	if err != nil {
		t.Fatal(err)
	}
	failing := func(command string) func(...string) (string, error) {
		return func(argv ...string) (string, error) {
			if argv[1] == command {
				return "", errors.New("failed")
			}
			return "", nil
		}
	}
	for _, h := range []*Host{
		{LookPath: without("docker")},
		{LookPath: without(), Run: failing("version")},
		{LookPath: without(), Run: failing("compose")},
	} {
		if why := h.noEngine(); why == "" || !strings.Contains(string(script), `echo "`+why+`"`) {
			t.Errorf("scripts/lab does not say %q", why)
		}
	}
}
