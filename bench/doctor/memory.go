package doctor

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

const gib = 1 << 30

// memory checks that the dataset stays in the page cache while the sockets have
// as much as the kernel lets them have.
func memory(h *Host) (Finding, error) {
	mem, err := h.meminfo()
	if err != nil || mem.MemAvailableBytes == nil {
		return clean, fmt.Errorf("/proc/meminfo does not say what is available")
	}
	// Each piece is stored twice, as a flat file and in a sector.
	dataset := float64(h.Settings.Dataset.Pieces) * float64(h.Settings.Dataset.PieceSize) * (127.0/128 + 1)
	sockets := 0.0
	if limits := strings.Fields(h.read("proc/sys/net/ipv4/tcp_mem")); len(limits) == 3 {
		pages, _ := strconv.ParseFloat(limits[2], 64)
		sockets = pages * float64(os.Getpagesize())
	}
	if float64(*mem.MemAvailableBytes) >= dataset+sockets {
		return clean, nil
	}
	return distorts("end what takes memory, or fewer pieces: make bench PIECES=1", "%.1f GiB of memory are available; the dataset wants %.1f to stay in the page cache, and sockets up to %.1f (net.ipv4.tcp_mem): cells will read the disk", float64(*mem.MemAvailableBytes)/gib, dataset/gib, sockets/gib)
}

func (h *Host) meminfo() (procfs.Meminfo, error) {
	proc, err := h.proc()
	if err != nil {
		return procfs.Meminfo{}, err
	}
	return proc.Meminfo()
}

func swap(h *Host) (Finding, error) {
	mem, err := h.meminfo()
	if err != nil || mem.SwapTotalBytes == nil || mem.SwapFreeBytes == nil {
		return clean, fmt.Errorf("/proc/meminfo does not say how much is swapped out")
	}
	used := *mem.SwapTotalBytes - *mem.SwapFreeBytes
	if used == 0 {
		return clean, nil
	}
	return distorts("sudo swapoff -a && sudo swapon -a", "%.2f GiB are swapped out: who needs them waits for the disk", float64(used)/gib)
}

func hugePages(h *Host) (Finding, error) {
	const file = "/sys/kernel/mm/transparent_hugepage/enabled"
	if !strings.Contains(h.read(file), "[always]") {
		return clean, nil
	}
	return note("echo madvise | sudo tee "+file, "transparent huge pages are always on: a program's memory grows by 2 MiB at a time, and server memory looks larger than what is used")
}

// reporting is the bit by which a balloon device offers to tell the hypervisor
// which pages are free: VIRTIO_BALLOON_F_REPORTING, virtio 1.2, 5.5.3.
const reporting = 5

func pageReporting(h *Host) (Finding, error) {
	for _, file := range h.glob("sys/bus/virtio/drivers/virtio_balloon/virtio*/features") {
		if bits := h.read(file); len(bits) > reporting && bits[reporting] == '1' {
			return note("start the machine without it (QEMU: -device virtio-balloon,free-page-reporting=off), or compare with REPEAT=2 or more", "the hypervisor takes pages back as soon as they are free, and each costs a fault there when it is used again: a first cell, and memory that grows, are slower")
		}
	}
	return clean, nil
}

func damon(h *Host) (Finding, error) {
	if h.read("sys/module/damon_reclaim/parameters/enabled") != "Y" {
		return clean, nil
	}
	return distorts("echo N | sudo tee /sys/module/damon_reclaim/parameters/enabled", "the kernel evicts memory that was not used for a while (damon_reclaim), and so the dataset from the page cache")
}
