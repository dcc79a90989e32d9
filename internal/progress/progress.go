// Package progress prints how far a long piece of work is.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// plainEvery is how often progress is printed without a terminal.
const plainEvery = 5 * time.Second

// Print prints to w how much of total bytes is done: a bar on a terminal, else
// a line from time to time. add is safe for concurrent use.
func Print(w io.Writer, what string, total int64) (add func(int64), done func()) {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		bar := progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription(what),
			progressbar.OptionShowBytes(true),
			progressbar.OptionUseIECUnits(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetWidth(30),
			progressbar.OptionClearOnFinish(),
		)
		return func(n int64) { bar.Add64(n) }, func() { bar.Clear() }
	}
	var mu sync.Mutex
	var sum int64
	next := time.Now().Add(plainEvery)
	return func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		sum += n
		if now := time.Now(); now.After(next) {
			fmt.Fprintf(w, "%s: %d %%\n", what, sum*100/total)
			next = now.Add(plainEvery)
		}
	}, func() {}
}
