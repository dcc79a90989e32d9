package delayline

import "time"

const (
	// deferFor is how long an acknowledgement that was left out waits for a later
	// one to make up for it: less than TCP's timeouts (200 ms and more).
	deferFor = 100 * time.Millisecond

	// deferCheck is how often deferred ones are looked for whose time is up.
	deferCheck = 10 * time.Millisecond

	// deferBatch is how many of them are sent at a time: a thousand at once would
	// make the line late again.
	deferBatch = 16

	// maxACK is the longest acknowledgement: two headers with all their options.
	maxACK = 120
)

// deferred keeps, of each connection, the last acknowledgement that was left
// out because it was late. It is sent after all when no packet of its connection
// has been sent within deferFor: it may be the very last, and the other end would
// wait for it until a timeout.
type deferred struct {
	waiting map[connection]*waiting
	free    []*waiting
	checked time.Duration
}

type waiting struct {
	first time.Duration // when the first one was left out since one was sent
	last  time.Duration // when this one was left out
	late  time.Duration // how late it was then
	size  int
	bytes [maxACK]byte
}

func newDeferred() *deferred { return &deferred{waiting: make(map[connection]*waiting)} }

// add keeps an acknowledgement that is late by so much.
func (d *deferred) add(packet []byte, now, late time.Duration) {
	key := connectionOf(packet)
	w := d.waiting[key]
	if w == nil {
		w = d.take()
		w.first = now
		d.waiting[key] = w
	}
	w.last, w.late = now, late
	w.size = copy(w.bytes[:], packet)
}

// sent notes that a packet was sent, which makes up for those of its connection
// that were left out before.
func (d *deferred) sent(packet []byte) {
	if len(d.waiting) == 0 {
		return
	}
	if _, tcp := tcpOf(packet); tcp {
		d.forget(connectionOf(packet))
	}
}

// overdue hands over a few of those whose time is up, or all of them, and
// forgets them. It is for a line that is not late: one that is catches up only
// if it leaves out all that it may.
func (d *deferred) overdue(now time.Duration, all bool, send func(packet []byte, late time.Duration)) {
	if len(d.waiting) == 0 || now-d.checked < deferCheck && !all {
		return
	}
	d.checked = now
	n := 0
	for key, w := range d.waiting {
		if all || n < deferBatch && now-w.first >= deferFor {
			send(w.bytes[:w.size], w.late+now-w.last)
			d.forget(key)
			n++
		}
	}
}

func (d *deferred) forget(key connection) {
	if w := d.waiting[key]; w != nil {
		delete(d.waiting, key)
		d.free = append(d.free, w)
	}
}

func (d *deferred) take() *waiting {
	last := len(d.free) - 1
	if last < 0 {
		return new(waiting)
	}
	w := d.free[last]
	d.free = d.free[:last]
	return w
}
