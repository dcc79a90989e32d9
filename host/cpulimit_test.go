package host

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
	limit, err := CPULimitOf(os.Getpid(), os.Getpid())
	if err != nil || limit.CPUs > float64(all.Count()) || limit.CPUs <= 0 || limit.Throttled > limit.Periods {
		t.Errorf("%+v, %v; this process may run on %d", limit, err, all.Count())
	}
	if _, err := CPULimitOf(1 << 30); err == nil {
		t.Error("a process that does not exist has a limit")
	}
}

// A group's quota holds for those inside it too.
func TestLeastQuotaOfTheGroupsAbove(t *testing.T) {
	mount := t.TempDir()
	for file, text := range map[string]string{
		"pod/cpu.max":                   "150000 100000\n",
		"pod/cpu.stat":                  "usage_usec 1\nnr_periods 40\nnr_throttled 30\n",
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
		want        CPULimit // of 0 CPUs: none
	}{
		{"/", "/pod/box", CPULimit{1.5, 40, 30}},
		{"/", "/old", CPULimit{}},
		{"/", "/old/limited", CPULimit{CPUs: 0.25}},
		{"/docker/x", "/docker/x/pod/box", CPULimit{1.5, 40, 30}}, // a container's own tree
		{"/docker/x", "/docker/y", CPULimit{}},                    // another container's
		{"/", "/", CPULimit{}},
	} {
		got, ok := leastAbove(mount, c.root, c.group)
		if ok != (c.want.CPUs > 0) || got != c.want {
			t.Errorf("%s below %s: %+v, %v; want %+v", c.group, c.root, got, ok, c.want)
		}
	}
}
