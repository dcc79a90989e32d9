package fingerprint

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"piecebench/version"
)

// versions sets what ran. Where a part runs in a container of its own, that
// lab's environment names the images.
func (f facts) versions(k6 string) {
	f.set("piecebench", version.Number)
	f.set("revision", version.Revision)
	f.set("go", runtime.Version())
	f.set("k6", firstLine(k6, "version"))
	f.set("iproute2", strings.TrimPrefix(firstLine("ip", "-V"), "ip utility, "))
	f.set("gateway", strings.TrimPrefix(firstLine(filepath.Join(filepath.Dir(k6), "piece-gateway"), "--version"), "piece-gateway version "))
	f.set("nginx", strings.TrimPrefix(firstLine("nginx", "-v"), "nginx version: "))
	f.set("nginx", os.Getenv("LAB_NGINX"))
	f.set("images", os.Getenv("LAB_IMAGES")) // name@ID, separated by spaces
}

// firstLine runs a program and returns the first line that it prints, empty
// where there is no such program.
func firstLine(name string, args ...string) string {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}
