// Package program builds the project's programs for tests that run them.
package program

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Build builds k6, netem-agent, piece-gateway or piecebench from the sources as
// they are, and returns its path. go.mod lists them as tools, because Go keeps
// tools that it has linked in its cache: of all tests that ask, the first one
// waits. The file is the cache's: copy it to change it.
func Build(name string) (path string, err error) {
	// Two that ask at once may get the answer "invalid binary cache entry".
	for range 3 {
		build := exec.Command("go", "tool", "-n", name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make does
		build.Stderr = os.Stderr
		out, err := build.Output()
		if err != nil {
			return "", fmt.Errorf("building %s: %w", name, err)
		}
		path = strings.TrimSpace(string(out))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("building %s: go tool -n says %q, which is no file", name, path)
}
