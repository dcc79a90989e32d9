package delayline

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A ring must hand out exactly what was put in, in order, through many wraps
// and while full.
func TestRingKeepsPacketsWhole(t *testing.T) {
	const mtu = 1500
	random := rand.New(rand.NewPCG(1, 2))
	r := newRing(16 << 10)
	var want [][]byte
	var full, in, out int
	for step := range 200_000 {
		if random.IntN(2) == 0 {
			room := r.reserve(mtu)
			if room == nil {
				full++
				if len(want) == 0 {
					t.Fatal("an empty ring says that it is full")
				}
				continue
			}
			n := random.IntN(mtu) + 1
			for i := range n {
				room[i] = byte(in + i)
			}
			r.commit(n, time.Duration(in), time.Duration(step%1000))
			want = append(want, bytes.Clone(room[:n]))
			in++
		} else if len(want) > 0 {
			packet, arrival, _ := r.front()
			if arrival != time.Duration(out) {
				t.Fatalf("packet %d leaves as number %d", arrival, out)
			}
			if !bytes.Equal(packet, want[0]) {
				t.Fatalf("packet %d has changed", out)
			}
			r.pop()
			want = want[1:]
			out++
		}
		if r.count != len(want) {
			t.Fatalf("count is %d with %d packets inside", r.count, len(want))
		}
	}
	if full == 0 || in < 1000 {
		t.Fatalf("the test never filled the ring: %d packets, %d times full", in, full)
	}
}

func TestRingResizeKeepsTheOldest(t *testing.T) {
	r := newRing(64 << 10)
	for i := range 100 {
		room := r.reserve(100)
		room[0] = byte(i)
		r.commit(100, time.Duration(i), 0)
	}
	bigger := r.resized(128 << 10)
	lost := r.count
	if lost != 0 || bigger.count != 100 {
		t.Fatalf("growing left %d packets and lost %d, want 100 and 0", bigger.count, lost)
	}
	smaller := bigger.resized(4 << 10)
	lost = bigger.count
	if lost == 0 || smaller.count+lost != 100 {
		t.Fatalf("shrinking left %d packets and lost %d, want 100 in all", smaller.count, lost)
	}
	for i := range smaller.count {
		packet, arrival, _ := smaller.front()
		if int(packet[0]) != i || arrival != time.Duration(i) {
			t.Fatalf("packet %d is number %d", i, packet[0])
		}
		smaller.pop()
	}
}

// Through many wraps, of each packet the next one of its connection is known, and
// of no packet that has left.
func TestRingKnowsTheNextPacketOfAConnection(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	r := newRing(4 << 10)
	var want []segment
	wraps := 0
	for step := range uint32(100_000) {
		if random.IntN(2) == 0 {
			s := segment{port: uint16(random.IntN(8)), ack: step, payload: random.IntN(200)}
			p := s.packet()
			before := r.tail
			if room := r.reserve(300); room != nil {
				r.commit(copy(room, p), 0, 0)
				want = append(want, s)
			}
			if r.tail < before {
				wraps++
			}
		} else if len(want) > 0 {
			first := want[0]
			want = want[1:]
			packet, _, _ := r.front()
			next := slices.IndexFunc(want, func(s segment) bool { return s.port == first.port })
			switch later := r.later(); {
			case !bytes.Equal(packet, first.packet()):
				t.Fatalf("another packet than %+v is the oldest", first)
			case next < 0 && later != nil:
				t.Fatalf("%+v is the last of its connection, and has a next one", first)
			case next >= 0 && !bytes.Equal(later, want[next].packet()):
				t.Fatalf("the next of %+v is not %+v", first, want[next])
			}
			r.pop()
		}
		ports := map[uint16]bool{}
		for _, s := range want {
			ports[s.port] = true
		}
		if len(r.newest) != len(ports) {
			t.Fatalf("%d connections are known, of %d", len(r.newest), len(ports))
		}
	}
	if wraps < 100 {
		t.Fatalf("the ring wrapped %d times only", wraps)
	}
}
