// Package delayline holds IP packets for a fixed time: what is read from a TUN
// device is written back to it that much later, in order.
package delayline

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// quantum is the pause after work was done: it bounds the wake-ups to 5000
	// a second however many packets pass, and is what a packet can be late for
	// it, once when it comes and once when it goes.
	quantum = 200 * time.Microsecond

	// batch is how many packets are read at a time.
	batch = 256
)

// Line is a delay line that runs on a thread of its own.
type Line struct {
	fd       int // the TUN device
	wake     int // an eventfd
	mtu      int
	transmit func(packet []byte) error // writes to the device

	want     atomic.Pointer[setting]
	meters   atomic.Pointer[meters]
	queued   atomic.Int64
	priority string
	done     chan struct{} // closed when the thread has ended, with err
	err      error
}

type setting struct {
	delay time.Duration
	size  int // of the ring, bytes
	stop  bool
}

// meters are counted from zero at each setting.
type meters struct {
	packets, dropped, shed atomic.Int64
	lateness               lateness
}

// Stats is what a line did since it was last set.
type Stats struct {
	Packets  int64 // sent on
	Dropped  int64 // lost for want of memory, or because the kernel did not take them back
	Shed     int64 // acknowledgements left out because the line was late, and a later one says the same
	Queued   int64 // held now
	Lateness Histogram
	Priority string // scheduling of the thread: "fifo 10", "nice -20", "nice 0"
}

// Start runs a line on a non-blocking TUN device, which it owns from now on.
// mtu is the device's.
func Start(tun, mtu int, delay time.Duration, size int) (*Line, error) {
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("delay line: eventfd: %w", err)
	}
	l := &Line{fd: tun, wake: wake, mtu: mtu, done: make(chan struct{}), transmit: func(packet []byte) error {
		_, err := unix.Write(tun, packet)
		return err
	}}
	l.want.Store(&setting{delay: delay, size: size})
	l.meters.Store(new(meters))
	ready := make(chan struct{})
	go func() {
		// Never unlocked: the thread ends with the goroutine, and its priority with it.
		runtime.LockOSThread()
		pin()
		l.priority = raisePriority()
		close(ready)
		l.err = l.run()
		close(l.done)
	}()
	<-ready
	return l, nil
}

// Set changes the delay, of the packets already held too, and the memory, and
// counts anew.
func (l *Line) Set(delay time.Duration, size int) error {
	l.want.Store(&setting{delay: delay, size: size})
	l.meters.Store(new(meters))
	return l.notify()
}

// Delay returns the delay as set.
func (l *Line) Delay() time.Duration { return l.want.Load().delay }

// Stats returns what the line did since it was last set.
func (l *Line) Stats() Stats {
	m := l.meters.Load()
	return Stats{
		Packets:  m.packets.Load(),
		Dropped:  m.dropped.Load(),
		Shed:     m.shed.Load(),
		Queued:   l.queued.Load(),
		Lateness: m.lateness.snapshot(),
		Priority: l.priority,
	}
}

// Close sends on at once what is held and closes the device, which removes it.
func (l *Line) Close() error {
	l.want.Store(&setting{stop: true, size: l.want.Load().size})
	if err := l.notify(); err != nil {
		return err
	}
	<-l.done
	unix.Close(l.wake)
	unix.Close(l.fd)
	return l.err
}

// Err returns why the line ended by itself, or nil while it runs.
func (l *Line) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}

func (l *Line) notify() error {
	one := [8]byte{1} // any number but 0 in either byte order
	if _, err := unix.Write(l.wake, one[:]); err != nil && err != unix.EAGAIN {
		return fmt.Errorf("delay line: wake its thread: %w", err)
	}
	return nil
}

// state is what only the thread touches.
type state struct {
	*setting
	*meters
	ring      *ring
	deferred  *deferred
	overflow  []byte
	start     time.Time
	lastEmpty time.Duration // when the device was last seen empty
	tried     int64         // writes
}

// run moves packets until it is told to stop. It allocates next to nothing, so
// that no garbage collection is due to it.
func (l *Line) run() error {
	s := &state{
		setting:  l.want.Load(),
		meters:   l.meters.Load(),
		deferred: newDeferred(),
		overflow: make([]byte, l.mtu),
		start:    time.Now(),
	}
	s.ring = newRing(s.size)
	for {
		if want := l.want.Load(); want != s.setting {
			s.apply(want)
		}
		s.meters = l.meters.Load()
		read, err := l.read(s)
		if err != nil {
			return err
		}
		written, all := l.write(s)
		l.queued.Store(int64(s.ring.count))
		switch {
		case read == batch || !all: // there is more to do
		case s.stop && s.ring.count == 0 && s.deferred.oldest() == nil:
			return nil
		case read+written > 0:
			nap()
		default:
			if err := l.wait(s); err != nil {
				return err
			}
		}
	}
}

func (s *state) apply(want *setting) {
	if want.size != s.size {
		old := s.ring
		s.ring = old.resized(want.size)
		s.dropped.Add(int64(old.count))
	}
	s.setting = want
}

// read takes up to a batch of packets from the device.
func (l *Line) read(s *state) (int, error) {
	for n := range batch {
		room := s.ring.reserve(l.mtu)
		full := room == nil
		if full {
			room = s.overflow
		}
		size, err := unix.Read(l.fd, room)
		now := time.Since(s.start)
		switch {
		case err == unix.EAGAIN:
			s.lastEmpty = now
			return n, nil
		case err == unix.EINTR:
		case err != nil:
			return n, fmt.Errorf("delay line: read the TUN device: %w", err)
		case full:
			s.dropped.Add(1)
		default:
			s.ring.commit(size, now, now-s.lastEmpty)
		}
	}
	return batch, nil
}

// write sends on the packets whose time has come, first those that are due first, and
// reports whether that were all. It ends sooner when it is time to read again: a write
// may carry the packet through the kernel's TCP, and other packets that wait for that
// CPU, and was seen to take two milliseconds.
func (l *Line) write(s *state) (n int, all bool) {
	for before := s.tried; ; n++ {
		now := time.Since(s.start)
		if s.tried > before && now-s.lastEmpty > quantum {
			return n, false
		}
		if s.ring.count > 0 && l.deferFront(s, now) {
			continue
		}
		due, deferred, ok := s.next(now)
		switch {
		case !ok || due > now:
			return n, true
		case deferred != nil:
			l.sendDeferred(s, deferred)
		default:
			l.sendFront(s, now-due)
		}
	}
}

// next returns when the next packet is to be sent, and that packet if it is a deferred
// one: it waited for deferFor, or nothing in the ring is due.
func (s *state) next(now time.Duration) (due time.Duration, deferred *waiting, ok bool) {
	if s.ring.count > 0 {
		_, arrival, _ := s.ring.front()
		due, ok = arrival+s.delay, true
	}
	if w := s.deferred.oldest(); w != nil && (!ok || due > now || due > w.due+deferFor) {
		return w.due, w, true
	}
	return due, nil, ok
}

// deferFront defers the oldest packet of the ring if it is a late acknowledgement.
func (l *Line) deferFront(s *state, now time.Duration) bool {
	packet, arrival, unread := s.ring.front()
	if due := arrival + s.delay; now-due <= shedAfter || !pureACK(packet) {
		return false
	} else if w := l.repeated(s, packet); w != nil {
		w.set(packet, arrival, unread)
	} else {
		key, _ := connectionOf(packet)
		s.deferred.add(key, packet, due, arrival, unread)
	}
	s.ring.pop()
	return true
}

// sendFront sends the oldest packet of the ring.
func (l *Line) sendFront(s *state, late time.Duration) {
	packet, _, unread := s.ring.front()
	if w := l.repeated(s, packet); w != nil {
		s.deferred.forget(w)
	}
	l.send(s, packet, late+unread)
	s.ring.pop()
}

// repeated returns the deferred acknowledgement that a later packet of its connection
// repeats. One that the packet does not repeat is sent, so that order is kept.
func (l *Line) repeated(s *state, packet []byte) *waiting {
	key, _ := connectionOf(packet) // a packet that is no TCP is of no connection
	w := s.deferred.of[key]
	if w != nil && !repeats(packet, w.packet()) {
		l.sendDeferred(s, w)
		return nil
	}
	if w != nil {
		s.shed.Add(1)
	}
	return w
}

func (l *Line) sendDeferred(s *state, w *waiting) {
	l.send(s, w.packet(), time.Since(s.start)-w.arrival-s.delay+w.unread)
	s.deferred.forget(w)
}

func (l *Line) send(s *state, packet []byte, late time.Duration) {
	s.tried++
	if err := l.transmit(packet); err != nil {
		s.dropped.Add(1)
		return
	}
	s.packets.Add(1)
	s.lateness.add(late)
}

func nap() {
	pause := unix.NsecToTimespec(int64(quantum))
	_ = unix.Nanosleep(&pause, nil) // a signal may cut it short, which does no harm
}

// wait sleeps until a packet comes, the oldest one is due, or the line is set.
func (l *Line) wait(s *state) error {
	fds := [...]unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}, {Fd: int32(l.wake), Events: unix.POLLIN}}
	var timeout *unix.Timespec
	now := time.Since(s.start)
	if due, _, ok := s.next(now); ok {
		t := unix.NsecToTimespec(int64(max(due-now, 0)))
		timeout = &t
	}
	if _, err := unix.Ppoll(fds[:], timeout, nil); err != nil && err != unix.EINTR {
		return fmt.Errorf("delay line: wait for the TUN device: %w", err)
	}
	if fds[1].Revents != 0 {
		var count [8]byte
		_, _ = unix.Read(l.wake, count[:])
	}
	// The device was empty until now.
	s.lastEmpty = time.Since(s.start)
	return nil
}
