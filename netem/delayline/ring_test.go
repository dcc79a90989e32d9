package delayline

import (
	"bytes"
	"math/rand/v2"
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
