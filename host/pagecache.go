package host

import (
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// WarmPageCache reads those parts of each file that are not resident.
func WarmPageCache(files []string) error {
	for _, name := range files {
		if share, err := Resident(name); err == nil && share == 1 {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, f)
		f.Close()
		if err != nil {
			return fmt.Errorf("reading %s into the page cache: %w", name, err)
		}
	}
	return nil
}

// EvictPageCache writes out each file's dirty pages and drops all of its pages. An error
// means that pages stayed: a process has mapped them, or the file system keeps them.
func EvictPageCache(files []string) error {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		_ = f.Sync() // only a file opened for writing needs it, and a read-only file system refuses
		err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		f.Close()
		if err != nil {
			return fmt.Errorf("evicting %s from the page cache: %w", name, err)
		}
		if share, err := Resident(name); err != nil {
			return err
		} else if share > 0.01 {
			return fmt.Errorf("%.0f %% of %s stay in the page cache", 100*share, name)
		}
	}
	return nil
}

// Resident returns the share of a file's pages that are in the page cache, by
// mincore(2): 0 to 1, and 1 for an empty file.
func Resident(name string) (float64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 1, err
	}
	mapped, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, fmt.Errorf("mapping %s: %w", name, err)
	}
	defer unix.Munmap(mapped)
	pages := make([]byte, (len(mapped)+os.Getpagesize()-1)/os.Getpagesize())
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(len(mapped)), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		return 0, fmt.Errorf("mincore of %s: %w", name, errno)
	}
	resident := 0
	for _, p := range pages {
		resident += int(p & 1)
	}
	return float64(resident) / float64(len(pages)), nil
}
