package doctor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"piecebench/host"
	"piecebench/netem/link"
	"piecebench/piece"
)

// disk checks what cold cells read from. Warm ones read the page cache.
func disk(h *Host) (Finding, error) {
	if h.Settings.Cache != "cold" {
		return clean, nil
	}
	proc, err := h.proc()
	if err != nil {
		return clean, err
	}
	at, err := host.MountOf(proc, h.Data)
	if err != nil {
		return clean, err
	}
	switch at.FSType {
	case "tmpfs", "ramfs":
		return blocks("a dataset on a disk, or CACHE=warm", "%s lies on %s, which is memory: it cannot be made cold", h.Data, at.FSType)
	case "zfs":
		return distorts("sudo zfs set primarycache=metadata <the dataset's file system>", "%s", h.Data+" lies on zfs, whose own cache (ARC) stays when the page cache is evicted")
	}
	m, err := piece.Load(filepath.Join(h.Data, piece.ManifestName))
	if err != nil || m.Pieces[0].Flat == "" {
		return clean, errors.New("how fast the disk is shows when there is a dataset to read: make bench makes it")
	}
	speed, err := h.ReadSpeed(filepath.Join(h.Data, m.Pieces[0].Flat))
	if err != nil {
		return clean, err
	}
	fastest := int64(0)
	for _, l := range h.Settings.Links {
		fastest = max(fastest, l.RateBits)
	}
	if bits := speed * 8; bits < float64(fastest)*link.FullSizedShare {
		return distorts(fmt.Sprintf("a faster disk, or slower links: make bench LINKS=%s", link.Spec{RateBits: roundRate(bits), Delay: h.Settings.Links[0].Delay}), "the disk reads %.0f Mbit/s, and the fastest link carries %.0f: cold cells will show the disk", bits/1e6, float64(fastest)*link.FullSizedShare/1e6)
	}
	return clean, nil
}

// roundRate returns the largest power of ten, in bit/s, below a rate.
func roundRate(bits float64) int64 {
	rate := int64(link.MinRateBits)
	for next := int64(1e6); float64(next)*link.FullSizedShare <= bits; next *= 10 {
		rate = next
	}
	return rate
}

// How a disk's speed is read: as several clients would, for a moment.
const (
	readers  = 8
	readSize = 1 << 20
	readTime = time.Second
)

// readSpeed reads a file past the page cache (O_DIRECT), in bytes per second.
func readSpeed(path string) (float64, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("%s cannot be read past the page cache: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	share := info.Size() / readers / readSize * readSize
	if share == 0 {
		return 0, fmt.Errorf("%s is too small to measure a disk with", path)
	}
	var total atomic.Int64
	var all errgroup.Group
	start := time.Now()
	for i := range readers {
		all.Go(func() error {
			buffer := aligned(readSize)
			for at := int64(i) * share; at < int64(i+1)*share && time.Since(start) < readTime; at += readSize {
				n, err := f.ReadAt(buffer, at)
				total.Add(int64(n))
				if err != nil && err != io.EOF {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return 0, err
	}
	return float64(total.Load()) / time.Since(start).Seconds(), nil
}

// aligned returns a buffer that O_DIRECT takes: it starts at a page.
func aligned(size int) []byte {
	page := os.Getpagesize()
	buffer := make([]byte, size+page)
	skip := page - int(uintptr(unsafe.Pointer(&buffer[0])))%page
	return buffer[skip : skip+size]
}
