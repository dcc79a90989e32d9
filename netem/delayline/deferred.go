package delayline

import "time"

const (
	// shedAfter is how late a pure acknowledgement is deferred. Where all CPUs are
	// full, the line cannot keep up, nothing tells the senders, and the RTT was
	// measured to grow to seconds (1000 flows at 10 Gbit/s on two cores).
	shedAfter = 5 * time.Millisecond

	// deferFor is how long a deferred acknowledgement waits, while others are due, for a
	// later packet of its connection that repeats it. After that it is sent before what
	// came later than it, so each connection is served in its turn, however late the line
	// is. With the RTT of 40 ms it stays below the 200 ms after which TCP repeats what it
	// sent.
	deferFor = 50 * time.Millisecond

	// maxACK is the longest acknowledgement: two headers with all their options.
	maxACK = 120
)

// deferred holds, of each connection, at most one acknowledgement that was late. It
// is left out when a later packet of the connection repeats it, as sch_cake's
// ack-filter does (RFC 3449), and sent when the line has nothing else to send, or when
// none does within deferFor.
type deferred struct {
	of    map[connection]*waiting
	queue []*waiting // in the order of their due times; what was repeated is empty
	free  []*waiting
}

type waiting struct {
	key     connection
	due     time.Duration // when the line should have sent the first that this one repeats
	arrival time.Duration // of this one
	unread  time.Duration
	size    int // 0: repeated
	bytes   [maxACK]byte
}

func (w *waiting) packet() []byte { return w.bytes[:w.size] }

func newDeferred() *deferred { return &deferred{of: make(map[connection]*waiting)} }

// add holds an acknowledgement of a connection that has none.
func (d *deferred) add(key connection, packet []byte, due, arrival, unread time.Duration) {
	w := d.take()
	w.key, w.due = key, due
	w.set(packet, arrival, unread)
	d.of[key] = w
	d.queue = append(d.queue, w)
}

// set replaces the acknowledgement by a later one, which inherits its due time.
func (w *waiting) set(packet []byte, arrival, unread time.Duration) {
	w.arrival, w.unread, w.size = arrival, unread, copy(w.bytes[:], packet)
}

// forget removes the acknowledgement of a connection.
func (d *deferred) forget(w *waiting) {
	delete(d.of, w.key)
	w.size = 0
}

// oldest returns the acknowledgement that waits longest, or nil.
func (d *deferred) oldest() *waiting {
	for len(d.queue) > 0 && d.queue[0].size == 0 {
		d.free = append(d.free, d.queue[0])
		d.queue = d.queue[1:]
	}
	if len(d.queue) == 0 {
		return nil
	}
	return d.queue[0]
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
