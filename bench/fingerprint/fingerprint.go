// Package fingerprint says what machine and which versions a run was made with.
// It holds no user names and no secrets.
package fingerprint

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Version is piecebench's own.
const Version = "0.1.0"

// Collect returns the fingerprint. What cannot be read is left out.
func Collect(k6 string) map[string]string {
	f := map[string]string{
		"piecebench": Version,
		"go":         runtime.Version(),
		"cpus":       fmt.Sprint(runtime.NumCPU()),
		"arch":       runtime.GOARCH,
	}
	set := func(key, value string) {
		if value = strings.TrimSpace(value); value != "" {
			f[key] = value
		}
	}
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 {
			set("cpu", cpus[0].ModelName)
		}
		if mem, err := fs.Meminfo(); err == nil && mem.MemTotalBytes != nil {
			set("memory", fmt.Sprintf("%.1f GiB", float64(*mem.MemTotalBytes)/(1<<30)))
		}
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		set("kernel", unix.ByteSliceToString(name.Release[:]))
	}
	set("os", osRelease())
	for _, sysctl := range []string{"tcp_congestion_control", "tcp_rmem", "tcp_wmem", "tcp_no_metrics_save"} {
		if data, err := os.ReadFile("/proc/sys/net/ipv4/" + sysctl); err == nil {
			set("net.ipv4."+sysctl, strings.Join(strings.Fields(string(data)), " "))
		}
	}
	set("k6", firstLine(k6, "version"))
	set("nginx", strings.TrimPrefix(firstLine("nginx", "-v"), "nginx version: "))
	set("nginx", os.Getenv("LAB_NGINX")) // the image, where nginx is in a container of its own
	return f
}

// osRelease returns the distribution's name from os-release(5).
func osRelease() string {
	data, _ := os.ReadFile("/etc/os-release")
	for _, line := range strings.Split(string(data), "\n") {
		if value, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

func firstLine(name string, args ...string) string {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}
