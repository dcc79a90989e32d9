package netem

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	blobChunk = 16 << 20 // bytes in memory; a longer answer repeats them
	blobMax   = 1 << 40
)

// blob serves any number of bytes from memory with sendfile, so that measuring
// a link costs its server next to nothing.
type blob struct{ path string }

func newBlob() (*blob, error) {
	fd, err := unix.MemfdCreate("netem-blob", unix.MFD_CLOEXEC)
	if err == nil {
		_, err = unix.Pwrite(fd, make([]byte, blobChunk), 0) // pages that exist, not holes
	}
	if err != nil {
		return nil, fmt.Errorf("memory to serve /blob from: %w", err)
	}
	return &blob{path: "/proc/self/fd/" + strconv.Itoa(fd)}, nil
}

func (b *blob) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	size, err := strconv.ParseInt(r.URL.Query().Get("bytes"), 10, 64)
	if err != nil || size < 1 || size > blobMax {
		fail(w, badSettingError{fmt.Errorf("bytes=%q is not a size: ask for /blob?bytes=N with N from 1 to %d", r.URL.Query().Get("bytes"), int64(blobMax))})
		return
	}
	file, err := os.Open(b.path) // a position of its own: sendfile moves it
	if err != nil {
		fail(w, err)
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	for size > 0 {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return
		}
		n, err := io.CopyN(w, file, min(size, blobChunk))
		if err != nil { // the client has left; the short body tells it so if not
			return
		}
		size -= n
	}
}
