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
