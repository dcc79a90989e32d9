package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/procfs"

	"piecebench/host"
)

func TestOf(t *testing.T) {
	root := t.TempDir()
	data := filepath.Join(root, "srv", "data")
	if err := os.MkdirAll(filepath.Join(data, "flat"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(data, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	proc := filepath.Join(root, "proc")
	if err := os.MkdirAll(filepath.Join(proc, "self"), 0o755); err != nil {
		t.Fatal(err)
	}
	table := "21 1 8:2 / / rw - ext4 /dev/sda2 rw\n" +
		fmt.Sprintf("22 21 0:40 / %s rw - tmpfs tmpfs rw\n", data) +
		fmt.Sprintf("23 21 8:3 / %s rw - xfs /dev/sda3 rw\n", data) + // over the one before
		fmt.Sprintf("24 21 0:41 / %s-old rw - nfs filer:/export rw\n", data)
	if err := os.WriteFile(filepath.Join(proc, "self", "mountinfo"), []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	fs, err := procfs.NewFS(proc)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		root:                                "ext4",
		data:                                "xfs",
		filepath.Join(data, "flat"):         "xfs",
		filepath.Join(data, "not", "there"): "xfs",
		filepath.Join(root, "link", "flat"): "xfs",
	} {
		if got, err := host.MountOf(fs, path); err != nil || got.FSType != want {
			t.Errorf("%s lies on %+v (%v), want %s", path, got, err, want)
		}
	}
}
