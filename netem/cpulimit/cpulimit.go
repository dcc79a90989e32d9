// Package cpulimit tells how many CPUs a process may use: what its affinity
// leaves it, or less where a control group has a quota.
package cpulimit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Of returns how many CPUs processes may use together, such as 2 or 0.5: the
// CPUs that at least one of them may run on, and no more than the quota of the
// first one's control groups. Quotas of groups that cannot be seen from here,
// such as another container's, are not known.
func Of(pids ...int) (float64, error) {
	var allowed unix.CPUSet
	for _, pid := range pids {
		var one unix.CPUSet
		if err := unix.SchedGetaffinity(pid, &one); err != nil {
			return 0, fmt.Errorf("CPUs that process %d may use: %w", pid, err)
		}
		for i := range allowed {
			allowed[i] |= one[i]
		}
	}
	cpus := float64(allowed.Count())
	if len(pids) == 0 {
		return cpus, nil
	}
	if quota, ok := quotaOf(pids[0]); ok {
		cpus = min(cpus, quota)
	}
	return cpus, nil
}

// quotaOf returns the least quota of the control groups that a process is in,
// in CPUs, and false where there is none. `ip netns exec` hides the groups' files
// from what it runs, but its parent still sees them.
func quotaOf(pid int) (least float64, ok bool) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return 0, false
	}
	groups, err := proc.Cgroups()
	if err != nil {
		return 0, false
	}
	for _, viewer := range []int{os.Getpid(), os.Getppid()} {
		mounts, err := procfs.GetProcMounts(viewer)
		if err != nil {
			continue
		}
		root := fmt.Sprintf("/proc/%d/root", viewer)
		for _, group := range groups {
			for _, mount := range mounts {
				if !controls(mount, group) {
					continue
				}
				quota, limited := leastAbove(filepath.Join(root, mount.MountPoint), mount.Root, group.Path)
				if limited && (!ok || quota < least) {
					least, ok = quota, true
				}
			}
		}
	}
	return least, ok
}

// leastAbove returns the least quota of a group and of those that it is in;
// root is the group whose files are at the mount point.
func leastAbove(mountPoint, root, group string) (least float64, ok bool) {
	below, err := filepath.Rel(root, group)
	if err != nil || strings.HasPrefix(below, "..") {
		return 0, false
	}
	for ; ; below = filepath.Dir(below) {
		if quota, limited := readQuota(filepath.Join(mountPoint, below)); limited && (!ok || quota < least) {
			least, ok = quota, true
		}
		if below == "." {
			return least, ok
		}
	}
}

// controls says whether a mount is the tree of control groups in which the
// group limits CPUs.
func controls(mount *procfs.MountInfo, group procfs.Cgroup) bool {
	if group.HierarchyID == 0 {
		return mount.FSType == "cgroup2"
	}
	_, cpu := mount.SuperOptions["cpu"]
	return mount.FSType == "cgroup" && cpu && slices.Contains(group.Controllers, "cpu")
}

// readQuota reads the quota of one control group, of version 2 or 1.
func readQuota(group string) (cpus float64, ok bool) {
	if text, err := os.ReadFile(filepath.Join(group, "cpu.max")); err == nil {
		quota, period, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		return ratio(quota, period)
	}
	quota, err := os.ReadFile(filepath.Join(group, "cpu.cfs_quota_us"))
	if err != nil {
		return 0, false
	}
	period, err := os.ReadFile(filepath.Join(group, "cpu.cfs_period_us"))
	if err != nil {
		return 0, false
	}
	return ratio(strings.TrimSpace(string(quota)), strings.TrimSpace(string(period)))
}

// ratio is false for no quota, which is "max" or -1.
func ratio(quota, period string) (float64, bool) {
	q, err := strconv.ParseFloat(quota, 64)
	if err != nil || q <= 0 {
		return 0, false
	}
	p, err := strconv.ParseFloat(period, 64)
	return q / p, err == nil && p > 0
}
