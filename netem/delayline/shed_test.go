package delayline

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// slowLine is a delay line without a device. Each packet that it sends takes a
// time, by a clock that passes only then and where a test sleeps.
type slowLine struct {
	*Line
	*state
	sent []string
}

func newSlowLine(delay, write time.Duration) *slowLine {
	s := &slowLine{state: &state{setting: &setting{delay: delay}, meters: new(meters), ring: newRing(8 << 20), deferred: newDeferred(), start: time.Now()}}
	s.Line = &Line{transmit: func(packet []byte) error {
		time.Sleep(write)
		s.sent = append(s.sent, name(packet))
		return nil
	}}
	return s
}

// name is what a test calls a segment's packet: "port:ack".
func name(packet []byte) string {
	ip := int(packet[0]&15) * 4
	return fmt.Sprintf("%d:%d", binary.BigEndian.Uint16(packet[ip:]), binary.BigEndian.Uint32(packet[ip+8:]))
}

func (s *slowLine) arrive(segments ...segment) {
	for _, g := range segments {
		p := g.packet()
		copy(s.ring.reserve(len(p)), p)
		s.ring.commit(len(p), time.Since(s.start), 0)
	}
	s.lastEmpty = time.Since(s.start)
}

// leave sends all whose time has come, as the line's thread does.
func (s *slowLine) leave() {
	for all := false; !all; s.lastEmpty = time.Since(s.start) {
		_, all = s.Line.write(s.state)
	}
}

func TestOnlyWhatALaterPacketRepeatsIsLeftOut(t *testing.T) {
	ack := func(port uint16, numbers ...uint32) (list []segment) {
		for _, n := range numbers {
			list = append(list, segment{port: port, ack: n})
		}
		return list
	}
	for _, test := range []struct {
		what    string
		arrive  []segment
		want    []string // what is sent of them
		notLate bool
	}{
		{"the only one of its connection", ack(7, 1), []string{"7:1"}, false},
		{"one of each connection", slices.Concat(ack(7, 1), ack(8, 1), ack(9, 1)), []string{"7:1", "8:1", "9:1"}, false},
		{"later ones of its connection", ack(7, 1, 2, 3), []string{"7:3"}, false},
		{"later ones of another connection", slices.Concat(ack(7, 1), ack(8, 2, 3)), []string{"7:1", "8:3"}, false},
		{"none that is not late", ack(7, 1, 2, 3), []string{"7:1", "7:2", "7:3"}, true},
		{"each in its turn", slices.Concat(ack(7, 1), ack(8, 1), ack(7, 2)), []string{"7:2", "8:1"}, false},
		{"duplicates", ack(7, 1, 1, 1, 1, 2), []string{"7:1", "7:1", "7:1", "7:2"}, false},
		{"a request in between", slices.Concat(ack(7, 1, 2), []segment{{port: 7, ack: 3, flags: psh, payload: 9}}, ack(7, 4, 5)), []string{"7:3", "7:5"}, false},
		{"before a FIN", append(ack(7, 1, 2), segment{port: 7, ack: 3, flags: fin}), []string{"7:3"}, false},
		{"before a reset", append(ack(7, 1, 2), segment{port: 7, ack: 3, flags: flagRST}), []string{"7:2", "7:3"}, false},
		{"congestion echoes", []segment{{port: 7, ack: 1, flags: ece}, {port: 7, ack: 2, flags: ece}, {port: 7, ack: 3}}, []string{"7:1", "7:2", "7:3"}, false},
		{"a block that is not repeated", []segment{{port: 7, ack: 1, sack: []block{{5, 6}}}, {port: 7, ack: 2}, {port: 7, ack: 7}}, []string{"7:1", "7:7"}, false},
	} {
		t.Run(test.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSlowLine(40*time.Millisecond, 0)
				s.arrive(test.arrive...)
				s.leave()
				if len(s.sent) > 0 {
					t.Fatalf("%v are sent before their time", s.sent)
				}
				if test.notLate {
					time.Sleep(40 * time.Millisecond)
				} else {
					time.Sleep(100 * time.Second)
				}
				s.leave()
				if !slices.Equal(s.sent, test.want) {
					t.Errorf("%v are sent, want %v", s.sent, test.want)
				}
				if s.ring.count != 0 || len(s.deferred.of) != 0 {
					t.Errorf("%d packets and %d connections stay", s.ring.count, len(s.deferred.of))
				}
				if got := s.packets.Load() + s.shed.Load(); got != int64(len(test.arrive)) {
					t.Errorf("%d packets are counted, want %d", got, len(test.arrive))
				}
			})
		})
	}
}

// A connection whose acknowledgements keep coming is never without one for longer than
// deferFor and what the other connections take, however late the line is.
func TestAnAcknowledgementWaitsForABoundedTimeOnly(t *testing.T) {
	const (
		connections = 10
		delay       = 40 * time.Millisecond
		write       = time.Millisecond
		steps       = 2000 // of one acknowledgement of each connection, 1 ms apart
	)
	synctest.Test(t, func(t *testing.T) {
		s := newSlowLine(delay, write)
		var last, longest [connections]time.Duration
		transmit := s.transmit
		s.transmit = func(packet []byte) error {
			c := binary.BigEndian.Uint16(packet[20:])
			now := time.Since(s.start)
			longest[c] = max(longest[c], now-last[c])
			last[c] = now
			return transmit(packet)
		}
		for n := uint32(0); n < steps; {
			for ; n <= uint32(time.Since(s.start)/time.Millisecond) && n < steps; n++ {
				for c := range uint16(connections) {
					s.arrive(segment{port: c, ack: n + 1})
				}
			}
			s.lastEmpty = time.Since(s.start)
			if sent, _ := s.Line.write(s.state); sent == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		for c, got := range longest {
			if most := delay + shedAfter + deferFor + 2*connections*write; got > most {
				t.Errorf("connection %d heard nothing for %v, want %v at most", c, got, most)
			}
		}
	})
}

// A line that is late only once, and then idle, is as if it were on time: nothing waits
// for a packet that may never come.
func TestADeferredAcknowledgementLeavesAsSoonAsNothingElseIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowLine(40*time.Millisecond, 0)
		s.arrive(segment{port: 7, ack: 1}, segment{port: 8, ack: 1}, segment{port: 8, ack: 2})
		time.Sleep(8 * time.Millisecond)
		s.arrive(segment{port: 9, ack: 1})
		time.Sleep(10 * time.Millisecond)
		s.arrive(segment{port: 7, ack: 2})
		time.Sleep(32 * time.Millisecond)
		s.leave()
		if want := []string{"9:1", "7:1", "8:2"}; !slices.Equal(s.sent, want) {
			t.Errorf("at 50 ms %v are sent, want %v: what is due first, then what was deferred, and not what comes later", s.sent, want)
		}
	})
}

func TestALineThatEndsSendsWhatItDeferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowLine(40*time.Millisecond, 2*quantum)
		s.arrive(segment{port: 7, ack: 1}, segment{port: 8, ack: 1}, segment{port: 9, flags: psh, payload: 9})
		time.Sleep(50 * time.Millisecond)
		if _, all := s.Line.write(s.state); all || !slices.Equal(s.sent, []string{"9:0"}) {
			t.Fatalf("%v are sent, want the request only", s.sent)
		}
		s.setting = &setting{stop: true}
		s.leave()
		if want := []string{"9:0", "7:1", "8:1"}; !slices.Equal(s.sent, want) {
			t.Errorf("%v are sent, want %v", s.sent, want)
		}
	})
}

// A hundred connections, each with a window of its own, share a line that can send
// a tenth of what comes. They hear of what they sent, each again and again: also
// one that waits for the only acknowledgement that it has under way.
func TestALineThatIsAlwaysLateStarvesNoConnection(t *testing.T) {
	const (
		connections = 100
		delay       = 40 * time.Millisecond
		write       = time.Millisecond
		step        = time.Millisecond
		steps       = 4000
	)
	synctest.Test(t, func(t *testing.T) {
		s := newSlowLine(delay, write)
		var sent, heard [connections]uint32 // segments, and the newest acknowledgement of them
		var times [connections]int          // that it heard of some
		transmit := s.transmit
		s.transmit = func(packet []byte) error {
			c := binary.BigEndian.Uint16(packet[20:])
			if ack := binary.BigEndian.Uint32(packet[28:]); ack > heard[c] {
				heard[c] = ack
				times[c]++
			}
			return transmit(packet)
		}
		for n := 0; n < steps; {
			for now := int(time.Since(s.start) / step); n <= now && n < steps; n++ {
				for c := range uint16(connections) {
					window, pace := uint32(50), 1+int(c)%4
					if c == 0 {
						window = 1
					}
					if n%pace == 0 && sent[c] < heard[c]+window {
						sent[c]++
						s.arrive(segment{port: c, ack: sent[c]})
					}
				}
			}
			before := len(s.sent)
			s.Line.write(s.state)
			s.lastEmpty = time.Since(s.start)
			if len(s.sent) == before {
				time.Sleep(step)
			}
		}
		if came := int64(len(s.sent)) + s.shed.Load(); came < 3*int64(len(s.sent)) {
			t.Fatalf("of %d packets that came %d were sent: the line was not late enough to show anything", came, len(s.sent))
		}
		// The longest round is a window at a step in four, the delay, and one packet of
		// each connection.
		const longest = 4*50*step + delay + connections*write
		for c, got := range times {
			if want := int(steps * step / longest / 2); got < want {
				t.Errorf("connection %d heard %d times of its %d segments, want %d at least", c, got, sent[c], want)
			}
		}
	})
}
