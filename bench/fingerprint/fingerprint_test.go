package fingerprint

import (
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes files below a folder: text by path; a path that ends with "@" is a
// symbolic link to the text.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path, link := strings.CutSuffix(filepath.Join(root, path), "@")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if link {
			err = os.Symlink(text, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const serverCPU = `processor	: %
vendor_id	: GenuineIntel
model name	: Intel(R) Xeon(R) Gold 6338
physical id	: 0
core id		: 0
flags		: fpu vme

`

func TestMachine(t *testing.T) {
	root := tree(t, map[string]string{
		"etc/machine-id":                 "00112233445566778899aabbccddeeff\n",
		"etc/os-release":                 "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
		"proc/cpuinfo":                   strings.Replace(serverCPU, "%", "0", 1) + strings.Replace(serverCPU, "%", "1", 1),
		"proc/meminfo":                   "MemTotal:       65536000 kB\nMemFree:        1000 kB\n",
		"proc/sys/kernel/osrelease":      "6.1.0-9-amd64\n",
		"proc/sys/net/ipv4/tcp_rmem":     "4096\t131072\t6291456\n",
		"sys/devices/system/cpu/offline": "\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":              "powersave\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":              "performance\n",
		"sys/devices/system/cpu/vulnerabilities/meltdown":                   "Not affected\n",
		"sys/devices/system/cpu/vulnerabilities/retbleed":                   "Mitigation: Enhanced IBRS\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource":   "tsc\n",
		"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet\n",
		"sys/kernel/mm/transparent_hugepage/enabled":                        "always [madvise] never\n",
	})
	f := facts{root: root, values: map[string]string{}}
	f.machine()
	f.sysctls()
	delete(f.values, "arch") // the test's own
	delete(f.values, "cpus")
	want := map[string]string{
		"cpu": "Intel(R) Xeon(R) Gold 6338", "cores": "1", "memory": "62.5 GiB", "kernel": "6.1.0-9-amd64",
		"os": "Debian GNU/Linux 12 (bookworm)", "virtualization": "none", "governor": "performance, powersave",
		"mitigation retbleed": "Mitigation: Enhanced IBRS", "clock source": "tsc", "transparent hugepages": "madvise",
		"net.ipv4.tcp_rmem": "4096 131072 6291456",
		"host":              "013753b5", // printf piecebench | openssl sha256 -hmac 00112233445566778899aabbccddeeff
	}
	if diff := cmp.Diff(want, f.values); diff != "" {
		t.Error(diff)
	}
}

func TestAVirtualMachineIsNamedByItsFirmware(t *testing.T) {
	f := facts{root: tree(t, map[string]string{
		"sys/class/dmi/id/sys_vendor":     "Amazon EC2\n",
		"sys/class/dmi/id/product_name":   "m6i.4xlarge\n",
		"sys/class/dmi/id/product_serial": "ec2-secret\n",
	})}
	if got := f.virtualization(true); got != "Amazon EC2 m6i.4xlarge" {
		t.Errorf("%q", got)
	}
}

func TestDiskOfAPartition(t *testing.T) {
	const disk = "sys/devices/pci0/block/sda/"
	root := tree(t, map[string]string{
		"sys/dev/block/8:2@":         "../../devices/pci0/block/sda/sda2",
		disk + "sda2/size":           "3907029168\n",
		disk + "sda2/partition":      "2\n",
		disk + "queue/rotational":    "1\n",
		disk + "queue/scheduler":     "[mq-deadline] none\n",
		disk + "queue/read_ahead_kb": "128\n",
	})
	f := facts{root: root}
	if got, want := f.disk("8:2"), "2000 GB, rotating, scheduler mq-deadline, read-ahead 128 KiB"; got != want {
		t.Errorf("disk %q, want %q", got, want)
	}
	if got := f.disk("0:40"); got != "" {
		t.Errorf("a file system without a disk has the disk %q", got)
	}
}

func TestThisMachine(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "pieces.json")
	if err := os.WriteFile(manifest, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := Collect(Parts{Manifest: manifest, Servers: []string{"http://127.0.0.1:8080/piece/{piece}"}})
	for _, key := range []string{"arch", "cpus", "memory", "kernel", "virtualization", "file system", "go", "piecebench", "revision", "net.ipv4.tcp_rmem"} {
		if got[key] == "" {
			t.Errorf("no %s", key)
		}
	}
	// printf '{}' | sha256sum
	if want := "pieces.json sha256 44136fa355b3678a"; got["dataset"] != want {
		t.Errorf("dataset %q, want %q", got["dataset"], want)
	}
	if device := got["network device"]; !strings.HasPrefix(device, "lo: ") || !strings.Contains(device, "qdisc noqueue") || !strings.Contains(device, "TSO on") {
		t.Errorf("network device %q, want lo's properties", device)
	}
	for key, value := range got {
		for what, secret := range secrets(t) {
			if secret != "" && strings.Contains(value, secret) {
				t.Errorf("%s=%q holds the %s", key, value, what)
			}
		}
	}
	again := Collect(Parts{Manifest: manifest, Servers: []string{"http://127.0.0.1:8080/piece/{piece}"}})
	if diff := cmp.Diff(got, again); diff != "" {
		t.Error("it changes by itself", diff)
	}
}

// secrets of this machine that are long enough not to be found by chance.
func secrets(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	if name, err := os.Hostname(); err == nil && len(name) > 3 {
		list["host name"] = name
	}
	if u, err := user.Current(); err == nil && len(u.Username) > 3 && u.Username != "root" {
		list["user name"] = u.Username
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, _, _ := strings.Cut(a.String(), "/"); !net.ParseIP(ip).IsLoopback() {
			list["address "+ip] = ip
		}
	}
	list["manifest's folder"] = os.TempDir() + "/"
	return list
}
