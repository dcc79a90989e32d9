package delayline

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// raisePriority gives the calling thread the best scheduling that it may have,
// and says which. Late packets are longer RTTs, and on a machine whose cores
// are all full an ordinary thread waits for milliseconds.
func raisePriority() string {
	attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 10}
	if unix.SchedSetAttr(0, attr, 0) == nil {
		return "fifo 10"
	}
	for _, nice := range []int{-20, -10, -5} {
		if unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), nice) == nil {
			return "nice " + strconv.Itoa(nice)
		}
	}
	return "nice 0"
}
