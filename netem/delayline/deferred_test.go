package delayline

import (
	"bytes"
	"testing"
	"time"
)

// acknowledgement returns the nth packet of the connection from a port.
func acknowledgement(port, n byte) []byte {
	p := make([]byte, 40)
	p[0], p[3], p[9], p[23], p[31], p[32], p[33] = 4<<4|5, 40, protocolTCP, port, n, 5<<4, flagACK
	return p
}

func (d *deferred) all(now time.Duration, stop bool) (packets [][]byte, late []time.Duration) {
	d.overdue(now, stop, func(packet []byte, l time.Duration) {
		packets, late = append(packets, bytes.Clone(packet)), append(late, l)
	})
	return packets, late
}

func TestDeferredSendsTheLastOfAConnection(t *testing.T) {
	d := newDeferred()
	for i, n := range []byte{1, 2, 3} {
		d.add(acknowledgement(7, n), time.Duration(i)*time.Millisecond, 5*time.Millisecond)
	}
	if got, _ := d.all(deferFor-1, false); len(got) != 0 {
		t.Errorf("%d are sent before their time", len(got))
	}
	got, late := d.all(deferFor+deferCheck, false)
	if len(got) != 1 || !bytes.Equal(got[0], acknowledgement(7, 3)) {
		t.Fatalf("%d are sent, want the third alone", len(got))
	}
	// 5 ms late when it was left out at 2 ms.
	if want := 5*time.Millisecond + deferFor + deferCheck - 2*time.Millisecond; late[0] != want {
		t.Errorf("it is %v late, want %v", late[0], want)
	}
	if len(d.waiting) != 0 {
		t.Error("what was sent is kept")
	}
}

func TestDeferredForgetsWhatALaterPacketMakesUpFor(t *testing.T) {
	d := newDeferred()
	d.add(acknowledgement(1, 1), 0, 0)
	d.add(acknowledgement(2, 1), 0, 0)
	d.sent(acknowledgement(1, 2))
	d.sent([]byte("not TCP"))
	got, _ := d.all(deferFor, false)
	if len(got) != 1 || !bytes.Equal(got[0], acknowledgement(2, 1)) {
		t.Errorf("%d are sent, want that of connection 2 alone", len(got))
	}
}

func TestDeferredGivesAllWhenTheLineEnds(t *testing.T) {
	d := newDeferred()
	for port := range byte(10) {
		d.add(acknowledgement(port, 1), 0, 0)
	}
	if got, _ := d.all(1, true); len(got) != 10 {
		t.Errorf("%d of 10 are sent", len(got))
	}
}
