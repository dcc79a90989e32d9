package fingerprint

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"piecebench/host"
)

// data describes the dataset, its file system and its disk.
func (f facts) data(manifest string) {
	f.set("dataset", digest("pieces.json", manifest))
	proc, err := f.proc()
	if err != nil {
		return
	}
	at, err := host.MountOf(proc, filepath.Dir(manifest))
	if err != nil {
		return
	}
	f.set("file system", at.FSType) // without its source, which may name a host
	f.set("disk", f.disk(at.MajorMinorVer))
}

// digest identifies a file by its content. It is empty if the file cannot be read.
func digest(name, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	// 64 bits are enough to distinguish files.
	return fmt.Sprintf("%s sha256 %.8x", name, sha256.Sum256(text))
}

// disk describes a block device: its model, its size and the settings of its queue. It is
// empty for a file system without a block device, such as tmpfs.
func (f facts) disk(majorMinor string) string {
	link := filepath.Join(f.root, "sys/dev/block", majorMinor)
	device, err := filepath.EvalSymlinks(link)
	if err != nil {
		return ""
	}
	at, err := filepath.Rel(f.root, device)
	if err != nil {
		return ""
	}
	sectors, err := strconv.ParseInt(f.read(at, "size"), 10, 64)
	if err != nil {
		return ""
	}
	const sector = 512 // bytes, for every disk: Documentation/ABI/stable/sysfs-block
	parts := []string{fmt.Sprintf("%.0f GB", float64(sectors)*sector/1e9)}
	if model := f.read(at, "device/model"); model != "" {
		parts = append([]string{model}, parts...)
	}
	queue := filepath.Join(at, "queue")
	if f.read(queue, "scheduler") == "" {
		queue = filepath.Join(filepath.Dir(at), "queue") // a partition has no queue of its own
	}
	switch f.read(queue, "rotational") {
	case "0":
		parts = append(parts, "not rotating")
	case "1":
		parts = append(parts, "rotating")
	}
	if scheduler := f.read(queue, "scheduler"); scheduler != "" {
		parts = append(parts, "scheduler "+chosen(scheduler))
	}
	if ahead := f.read(queue, "read_ahead_kb"); ahead != "" {
		parts = append(parts, "read-ahead "+ahead+" KiB")
	}
	return strings.Join(parts, ", ")
}
