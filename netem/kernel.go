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
type kernel struct {
	*device
	lost int64 // what state takes for lost at random, until the link was set
}

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
	if err := errors.Join(want.checkNetem(root), want.checkTBF(child)); err != nil {
		return err
	}
	k.lost = beyondChild(root, child)
	return nil
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
	s.Stats.Drops = dropsOf(root, child)
	if child != nil && child.Kind == "tbf" {
		addTBF(&s, child)
		s.Stats.Overlimits = child.Overlimits
	}
	if s.Loss > 0 {
		s.Stats.LossDrops = beyondChild(root, child) - k.lost
	}
	return s, nil
}

// dropsOf returns how many packets the qdiscs dropped. netem counts those that its child
// drops, but of a GSO packet that tbf cuts into segments not each one.
func dropsOf(root, child *qdisc) int64 {
	if child == nil {
		return root.Drops
	}
	return max(root.Drops, child.Drops)
}

// beyondChild returns how many packets netem dropped by itself. With a loss, in which
// case no packet has more than one segment, these are the lost ones.
func beyondChild(root, child *qdisc) int64 {
	if child == nil {
		return root.Drops
	}
	return root.Drops - child.Drops
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
