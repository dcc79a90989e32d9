package cpulimit

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAffinityLimits(t *testing.T) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	cpus, err := Of(os.Getpid(), os.Getpid())
	if err != nil || cpus > float64(all.Count()) || cpus <= 0 {
		t.Errorf("%v CPUs, %v; this process may run on %d", cpus, err, all.Count())
	}
	if _, err := Of(1 << 30); err == nil {
		t.Error("a process that does not exist has a limit")
	}
}

// A group's quota holds for those inside it too.
func TestLeastQuotaOfTheGroupsAbove(t *testing.T) {
	mount := t.TempDir()
	for file, text := range map[string]string{
		"pod/cpu.max":                   "150000 100000\n",
		"pod/box/cpu.max":               "max 100000\n",
		"old/cpu.cfs_quota_us":          "-1\n",
		"old/cpu.cfs_period_us":         "100000\n",
		"old/limited/cpu.cfs_quota_us":  "25000\n",
		"old/limited/cpu.cfs_period_us": "100000\n",
	} {
		path := filepath.Join(mount, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		root, group string
		want        float64 // 0: none
	}{
		{"/", "/pod/box", 1.5},
		{"/", "/old", 0},
		{"/", "/old/limited", 0.25},
		{"/docker/x", "/docker/x/pod/box", 1.5}, // a container's own tree
		{"/docker/x", "/docker/y", 0},           // another container's
		{"/", "/", 0},
	} {
		got, ok := leastAbove(mount, c.root, c.group)
		if ok != (c.want > 0) || got != c.want {
			t.Errorf("%s below %s: %v, %v; want %v", c.group, c.root, got, ok, c.want)
		}
	}
}
