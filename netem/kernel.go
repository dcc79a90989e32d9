package netem

import (
	"errors"
	"fmt"

	"piecebench/netem/client"
	"piecebench/netem/link"
)

// kernel makes the link in the kernel alone: netem as the root qdisc delays and
// loses, its child tbf limits the rate. Both are changed in place, so that an
// agent that dies leaves the link as it was.
type kernel struct{ *device }

func (k *kernel) name() string { return client.Kernel }

func (k *kernel) set(spec link.Spec) error {
	if spec == link.None {
		return errors.Join(k.clearQdiscs(), k.freeGSO())
	}
	want := shapeOf(spec)
	if err := k.setLossUnit(spec); err != nil {
		return err
	}
	if err := k.setQdisc([]string{"root"}, rootHandle, want.netem()); err != nil {
		return err
	}
	if err := k.setRate(want); err != nil {
		return err
	}
	root, child, err := k.qdiscs()
	if err != nil {
		return err
	}
	return errors.Join(want.checkNetem(root), want.checkTBF(child))
}

func (k *kernel) setRate(want shape) error {
	if want.rateBytes > 0 {
		return k.setQdisc([]string{"parent", rootHandle}, childHandle, want.tbf())
	}
	_, child, err := k.qdiscs()
	if err != nil || child == nil {
		return err
	}
	return k.run("tc", "qdisc", "del", "dev", k.iface, "parent", rootHandle, "handle", childHandle)
}

// setLossUnit makes loss apply to single packets. A GSO packet in a qdisc has up to
// 64 KB, and its loss would be a burst of 45 losses. This costs CPU time, so it is done
// only for links with loss.
func (d *device) setLossUnit(spec link.Spec) error {
	if spec.Loss > 0 {
		return d.limitGSO(1)
	}
	return d.freeGSO()
}

func (k *kernel) state() (client.State, error) {
	root, child, err := k.qdiscs()
	if err != nil {
		return client.State{}, err
	}
	var s client.State
	if root == nil {
		return s, nil
	}
	if root.Kind != "netem" {
		return s, fmt.Errorf("device %s has lost its netem (its root qdisc is %s): set the link again", k.iface, root.Kind)
	}
	s.DelayMs = root.Options.Delay.Delay * 1000
	s.Loss = root.Options.Loss.Loss
	s.NetemLimitPackets = root.Options.Limit
	s.Stats = statsOf(root)
	if child != nil && child.Kind == "tbf" {
		addTBF(&s, child)
		// netem counts no drop of its child, and tbf is where rate-limited packets wait.
		s.Stats.Drops += child.Drops
		s.Stats.Overlimits = child.Overlimits
	}
	return s, nil
}

func statsOf(q *qdisc) client.Stats {
	return client.Stats{SentBytes: q.Bytes, SentPackets: q.Packets, Drops: q.Drops, Overlimits: q.Overlimits, BacklogBytes: q.Backlog}
}

func addTBF(s *client.State, q *qdisc) {
	s.RateBits = q.Options.Rate * 8
	s.BurstBytes = q.Options.Burst
	s.LimitBytes = q.Options.Limit
}

func (k *kernel) healthy() error { return nil }

func (k *kernel) restore() error {
	return errors.Join(k.clearQdiscs(), k.freeGSO())
}
