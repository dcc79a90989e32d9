package host

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

// CPULimit is what processes may use of the CPUs, and how often that stopped them.
type CPULimit struct {
	// CPUs that they may use together, such as 2 or 0.5: those that at least one
	// of them may run on, and no more than the least quota of the first one's
	// control groups.
	CPUs float64
	// Periods of that quota in which anything ran, and of these those in which
	// the quota was used up and something had to wait for the next; both since
	// the group was made, 0 without a quota. Source: the group's cpu.stat.
	Periods, Throttled int64
}

// CPULimitOf returns the limit of processes. Quotas of groups that cannot be seen from
// here, such as another container's, are not known.
func CPULimitOf(pids ...int) (CPULimit, error) {
	var allowed unix.CPUSet
	for _, pid := range pids {
		var one unix.CPUSet
		if err := unix.SchedGetaffinity(pid, &one); err != nil {
			return CPULimit{}, fmt.Errorf("CPUs that process %d may use: %w", pid, err)
		}
		for i := range allowed {
			allowed[i] |= one[i]
		}
	}
	limit := CPULimit{CPUs: float64(allowed.Count())}
	if len(pids) == 0 {
		return limit, nil
	}
	if quota, ok := quotaOf(pids[0]); ok {
		limit.CPUs = min(limit.CPUs, quota.CPUs)
		limit.Periods, limit.Throttled = quota.Periods, quota.Throttled
	}
	return limit, nil
}

// quotaOf returns the least quota of the control groups that a process is in,
// and false where there is none. `ip netns exec` hides the groups' files
// from what it runs, but its parent still sees them.
func quotaOf(pid int) (least CPULimit, ok bool) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return least, false
	}
	groups, err := proc.Cgroups()
	if err != nil {
		return least, false
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
				if limited && (!ok || quota.CPUs < least.CPUs) {
					least, ok = quota, true
				}
			}
		}
	}
	return least, ok
}

// leastAbove returns the least quota of a group and of those that it is in;
// root is the group whose files are at the mount point.
func leastAbove(mountPoint, root, group string) (least CPULimit, ok bool) {
	below, err := filepath.Rel(root, group)
	if err != nil || strings.HasPrefix(below, "..") {
		return least, false
	}
	for ; ; below = filepath.Dir(below) {
		group := filepath.Join(mountPoint, below)
		if cpus, limited := readQuota(group); limited && (!ok || cpus < least.CPUs) {
			least, ok = CPULimit{CPUs: cpus}, true
			least.Periods, least.Throttled = readThrottling(group)
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
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(group, name)) // what is not there is no quota
		return strings.TrimSpace(string(text))
	}
	quota, period, ok := strings.Cut(read("cpu.max"), " ")
	if !ok {
		quota, period = read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")
	}
	return ratio(quota, period)
}

// readThrottling reads how often a group's quota stopped it; zeros where that
// cannot be read.
func readThrottling(group string) (periods, throttled int64) {
	text, _ := os.ReadFile(filepath.Join(group, "cpu.stat"))
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "nr_periods":
			periods = n
		case "nr_throttled":
			throttled = n
		}
	}
	return periods, throttled
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
