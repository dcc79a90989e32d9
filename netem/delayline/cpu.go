package delayline

import "golang.org/x/sys/unix"

// CPU returns the CPU of a set that the line's thread runs on, which is its first. The
// thread does not move, so that others can be kept from its CPU.
func CPU(set unix.CPUSet) int {
	cpu := 0
	for !set.IsSet(cpu) {
		cpu++
	}
	return cpu
}

// pin keeps the calling thread on its CPU, where there is another one.
func pin() {
	var set, one unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil || set.Count() < 2 {
		return
	}
	one.Set(CPU(set))
	_ = unix.SchedSetaffinity(0, &one) // without it, the line is only late more often
}
