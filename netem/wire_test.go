package netem

import (
	"context"
	"io"
	"net/http"
	"testing"

	"piecebench/netem/client"
)

// sentBytesAreThoseOnTheWire downloads a known payload. Each packet on the wire has
// headers of 66 bytes (Ethernet 14, IP 20, TCP 20, its time stamps 12), also where one
// GSO packet of 64 KB is many of them. The device's own counters count those of a GSO
// packet once.
func sentBytesAreThoseOnTheWire(t *testing.T, backend string) {
	const (
		payload = 32 << 20
		headers = 66
		segment = 1448
		others  = 2000 // bytes at most: of ARP, options of the first segment, the head of the response
	)
	l := newLab(t)
	a := l.start(backend)

	a.set("1gbit/2ms")
	sent, device := l.wireOf(a, payload)
	if got := sent.SentBytes - payload - headers*sent.SentPackets; got < 0 || got > others {
		t.Errorf("%d bytes and %d packets are counted for %d bytes of payload: %d bytes are neither payload nor headers", sent.SentBytes, sent.SentPackets, payload, got)
	}
	if least := int64(payload / segment); sent.SentPackets < least || sent.SentPackets > least*102/100 {
		t.Errorf("%d packets are counted, want %d or a few more", sent.SentPackets, least)
	}
	if device > sent.SentBytes*98/100 {
		t.Errorf("the device counts %d bytes and the queue %d: docs/METHODOLOGY.md says that the device hides headers", device, sent.SentBytes)
	}

	// With a loss, a packet is one on the wire for everybody who counts.
	a.set("1gbit/2ms/1%")
	lossy, device := l.wireOf(a, payload)
	if d := device - lossy.SentBytes; d < -others || d > others {
		t.Errorf("without GSO the device counts %d bytes and the queue %d", device, lossy.SentBytes)
	}
	if want := lossy.SentPackets / 100; lossy.LossDrops < want/2 || lossy.LossDrops > want*2 {
		t.Errorf("%d packets are lost of %d, want about 1 %%", lossy.LossDrops, lossy.SentPackets)
	}
	if lossy.TCPRetransmitted < lossy.LossDrops-5 || lossy.TCPSegments < lossy.TCPRetransmitted+payload/segment {
		t.Errorf("%d of %d segments are sent again, with %d packets lost", lossy.TCPRetransmitted, lossy.TCPSegments, lossy.LossDrops)
	}
}

// What tc shows of Linux 6.1: netem counts the packets that its child dropped too.
func TestAPacketThatTheChildDropsIsOneDrop(t *testing.T) {
	for _, test := range []struct {
		netem, tbf, drops, lost int64
	}{
		{netem: 3, tbf: 3, drops: 3},                // whole packets
		{netem: 8, tbf: 31, drops: 31},              // segments of eight
		{netem: 505, tbf: 3, drops: 505, lost: 502}, // 1 % of 46351 were lost
	} {
		root, child := &qdisc{Kind: "netem", Drops: test.netem}, &qdisc{Kind: "tbf", Drops: test.tbf}
		if got := dropsOf(root, child); got != test.drops {
			t.Errorf("netem counts %d and tbf %d: %d drops, want %d", test.netem, test.tbf, got, test.drops)
		}
		if got := beyondChild(root, child); test.lost > 0 && got != test.lost {
			t.Errorf("netem counts %d and tbf %d: %d are lost, want %d", test.netem, test.tbf, got, test.lost)
		}
	}
	if root := (&qdisc{Drops: 5}); dropsOf(root, nil) != 5 || beyondChild(root, nil) != 5 {
		t.Error("without a rate cap, all drops are netem's")
	}
}

// wireOf downloads bytes through the link, and returns what the agent counted
// meanwhile, and what the clients' device did.
func (l *testLab) wireOf(a *testAgent, bytes int64) (counted client.Stats, device int64) {
	l.t.Helper()
	read := func() client.Stats {
		state, err := a.Link(context.Background())
		if err != nil {
			l.t.Fatal(err)
		}
		return state.Stats
	}
	before := read()
	from, _, _ := l.receivedBytes()
	request, err := http.NewRequest("GET", "http://"+shapedAddr+client.BlobPath(bytes), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	request.Close = true
	response, err := l.client(shapedAddr).HTTP.Do(request)
	if err != nil {
		l.t.Fatal(err)
	}
	got, err := io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if err != nil || got != bytes {
		l.t.Fatalf("%d bytes of %d came: %v", got, bytes, err)
	}
	to, _, _ := l.receivedBytes()
	after := read()
	return client.Stats{
		SentBytes: after.SentBytes - before.SentBytes, SentPackets: after.SentPackets - before.SentPackets,
		Drops: after.Drops - before.Drops, LossDrops: after.LossDrops - before.LossDrops,
		TCPSegments: after.TCPSegments - before.TCPSegments, TCPRetransmitted: after.TCPRetransmitted - before.TCPRetransmitted,
	}, to - from
}
