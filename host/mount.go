package host

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/prometheus/procfs"
)

// MountOf returns the mount, in this process's namespace, that a path lies on. The
// symbolic links of the path, or of the nearest folder above it that exists, are
// resolved. The mount's Source may name a host.
func MountOf(proc procfs.FS, path string) (*procfs.MountInfo, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			path = real
			break
		}
		if path == filepath.Dir(path) {
			return nil, err
		}
		path = filepath.Dir(path)
	}
	mounts, err := proc.GetMounts()
	if err != nil {
		return nil, err
	}
	// The last mount at the longest mount point hides the others.
	var found *procfs.MountInfo
	for _, m := range mounts {
		below := m.MountPoint == "/" || m.MountPoint == path || strings.HasPrefix(path, m.MountPoint+"/")
		if below && (found == nil || len(m.MountPoint) >= len(found.MountPoint)) {
			found = m
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no mount holds %s", path)
	}
	return found, nil
}
