package netem

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestCPUMask(t *testing.T) {
	for _, test := range []struct {
		cpus []int
		want string
	}{
		{[]int{0}, "1"},
		{[]int{0, 1}, "3"},
		{[]int{1, 31}, "80000002"},
		{[]int{0, 32}, "1,1"},
		{[]int{64}, "1,0,0"},
	} {
		var set unix.CPUSet
		for _, cpu := range test.cpus {
			set.Set(cpu)
		}
		if got := cpuMask(set); got != test.want {
			t.Errorf("mask of CPUs %v is %s, want %s", test.cpus, got, test.want)
		}
	}
}

func TestTheLinesOwnCPUProcessesNothingWhereTheOthersSuffice(t *testing.T) {
	for _, test := range []struct {
		cpus int
		rate int64
		want string
	}{
		{1, 1e9, "1"},
		{2, 1e9, "2"},
		{2, 10e9, "3"},
		{2, 0, "3"}, // unlimited
		{8, 10e9, "fe"},
	} {
		var set unix.CPUSet
		for cpu := range test.cpus {
			set.Set(cpu)
		}
		if got := cpuMask(steered(set, test.rate)); got != test.want {
			t.Errorf("%d CPUs at %d bit/s: %s, want %s", test.cpus, test.rate, got, test.want)
		}
	}
}
