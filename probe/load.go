package probe

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// levels are how many requests are sent at once, one level after the other.
var levels = []int{2, 4, 8, 16}

// loadBytes is what all levels read at most, in bytes.
const loadBytes = (2 + 4 + 8 + 16) * (chunk + 1)

// regions is the number of workers of the bandwidth measurement (BMS), which ask at the
// same instant. A server that refuses as many loses their measurements.
const regions = 10

func checkLoad(s *session) outcome {
	before := ""
	if s.delayed > 0 {
		before = fmt.Sprintf("; also %d of the requests that were sent one at a time got 429 or 503, and a second try", s.delayed)
	}
	for _, n := range levels {
		bad := s.crowd(n)
		if len(bad) == 0 {
			continue
		}
		verdict := Warn
		if n < regions {
			verdict = Fail
		}
		return says(verdict, "%d of %d parallel requests failed, the first with %s%s", len(bad), n, bad[0], before)
	}
	if before != "" {
		return says(Warn, "%d parallel requests are served%s", levels[len(levels)-1], before)
	}
	return says(Pass, "%s parallel requests are served", strings.Trim(fmt.Sprint(levels), "[]"))
}

// crowd sends so many requests at once, each for another part of the piece and on a
// connection of its own, and returns what went wrong.
func (s *session) crowd(n int) (bad []string) {
	var all sync.WaitGroup
	var mu sync.Mutex
	start := make(chan struct{})
	length := min(chunk, s.size)
	for i := range int64(n) {
		from := (s.size - length) / int64(n) * i
		all.Go(func() {
			<-start
			a := s.once(s.fresh, s.span(from, from+length-1))
			if a.status == http.StatusPartialContent && a.err == nil {
				return
			}
			mu.Lock()
			bad = append(bad, s.brief(a))
			mu.Unlock()
		})
	}
	close(start)
	all.Wait()
	return bad
}
