package selftest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// quota makes a control group with so many CPUs, and returns the file that a
// process is moved into it by. The group goes when the test ends, after those
// that the test started. Where there can be none, the test is skipped.
func quota(t *testing.T, name string, cpus float64) (procs string) {
	t.Helper()
	const period = 20_000 // microseconds: short, so that a quota is used up evenly
	limit := strconv.Itoa(int(cpus * period))
	name = fmt.Sprintf("piecebench-selftest-%d-%s", os.Getpid(), name)
	var group string
	var err error
	write := func(file, text string) {
		if err == nil {
			err = os.WriteFile(filepath.Join(group, file), []byte(text), 0)
		}
	}
	const v1, v2 = "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"
	if _, missing := os.Stat(filepath.Join(v2, "cgroup.controllers")); missing == nil {
		group = v2
		write("cgroup.subtree_control", "+cpu")
		group = filepath.Join(v2, name)
		if err == nil {
			err = os.Mkdir(group, 0o755)
		}
		write("cpu.max", fmt.Sprint(limit, " ", period))
	} else {
		group = filepath.Join(v1, name)
		err = os.Mkdir(group, 0o755)
		write("cpu.cfs_period_us", strconv.Itoa(period))
		write("cpu.cfs_quota_us", limit)
	}
	t.Cleanup(func() { _ = os.Remove(group) }) // none of it was made where it cannot be removed
	if err != nil {
		t.Skip("SKIPPED: needs control groups that limit CPUs: ", err)
	}
	return filepath.Join(group, "cgroup.procs")
}
