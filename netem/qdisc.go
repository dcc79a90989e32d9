package netem

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"piecebench/netem/link"
)

// gsoBytes is the most that one GSO packet holds. tbf cuts a packet that is
// larger than its burst into segments, at the cost of throughput: with a burst
// of 16 KB a 1 Gbit/s link was measured to carry 900 of 946 Mbit/s.
const gsoBytes = 64 << 10

// shape is the tbf and netem parameters of a link.
type shape struct {
	rateBytes   int64 // per second
	burst       int64 // bytes
	limit       int64 // bytes that tbf queues
	netemLimit  int64 // packets that netem holds
	delay       time.Duration
	lossPercent float64
}

// shapeOf computes the parameters.
//
//   - burst: one millisecond of the rate. More would send the first megabytes of
//     a range unshaped, less costs throughput.
//   - limit: one bandwidth-delay product, as is usual for routers, and at least 10 ms
//     of the rate for links with little delay.
//   - netem's limit counts packets, whatever their size, and holds those in
//     flight and those that wait: four products of full-sized packets. With a
//     limit too small (1000 at 1 Gbit/s and 40 ms) 128 flows were measured to
//     get 435 Mbit/s, and 8 flows all of it.
func shapeOf(spec link.Spec) shape {
	rate := spec.RateBits / 8
	s := shape{
		rateBytes:   rate,
		burst:       max(rate/1000, gsoBytes),
		delay:       spec.Delay.Round(time.Microsecond),
		lossPercent: spec.Loss * 100,
	}
	s.limit = min(max(spec.BDP(), rate/100, 4*gsoBytes), math.MaxUint32)
	inFlight := spec.BDP()
	if rate == 0 {
		inFlight = link.Spec{RateBits: 100e9, Delay: spec.Delay}.BDP()
	}
	s.netemLimit = min(max(4*inFlight/1514, 10_000), math.MaxUint32)
	return s
}

func (s shape) tbf() []string {
	return []string{"tbf", "rate", strconv.FormatInt(s.rateBytes*8, 10) + "bit",
		"burst", strconv.FormatInt(s.burst, 10), "limit", strconv.FormatInt(s.limit, 10)}
}

func (s shape) netem() []string {
	args := []string{"netem", "limit", strconv.FormatInt(s.netemLimit, 10)}
	if s.delay > 0 {
		args = append(args, "delay", strconv.FormatInt(s.delay.Microseconds(), 10)+"us")
	}
	if s.lossPercent > 0 {
		args = append(args, "loss", "random", strconv.FormatFloat(s.lossPercent, 'f', -1, 64)+"%")
	}
	return args
}

// qdisc is one line of tc -s -r -j qdisc show.
type qdisc struct {
	Dev     string `json:"dev"` // only where no device was asked for
	Kind    string `json:"kind"`
	Handle  string `json:"handle"`
	Root    bool   `json:"root"`
	Parent  string `json:"parent"`
	Options struct {
		Rate  int64 `json:"rate"`  // tbf, bytes per second
		Burst int64 `json:"burst"` // tbf, bytes; tc rounds it to ticks of 64 ns
		Limit int64 `json:"limit"` // tbf bytes, netem packets
		Delay struct {
			Delay float64 `json:"delay"` // netem, seconds
		} `json:"delay"`
		Loss struct {
			Loss float64 `json:"loss"` // netem, a share
		} `json:"loss-random"`
	} `json:"options"`
	Bytes      int64 `json:"bytes"`
	Packets    int64 `json:"packets"`
	Drops      int64 `json:"drops"`
	Overlimits int64 `json:"overlimits"`
	Backlog    int64 `json:"backlog"`
}

// Handles of the agent's qdiscs, which nobody else is likely to use. They identify the
// qdiscs that a killed agent left. The kernel's own default qdiscs have 0:.
const (
	rootHandle  = "9100:"
	childHandle = "9101:"
)

// ours says whether an agent made a root qdisc.
func (q qdisc) ours() bool {
	return q.Handle == rootHandle && (q.Kind == "tbf" || q.Kind == "netem")
}

// qdiscs returns the root qdisc of a device and its child, nil where there is none.
func (d *device) qdiscs() (root, child *qdisc, err error) {
	var all []qdisc
	if err := query(&all, "tc", "-s", "-r", "-j", "qdisc", "show", "dev", d.iface); err != nil {
		return nil, nil, err
	}
	for i := range all {
		switch q := &all[i]; {
		case q.Root && q.Handle != "0:":
			root = q
		case q.Parent == rootHandle:
			child = q
		}
	}
	return root, child, nil
}

// refuseForeign returns an error if the device has a qdisc that no agent made.
func (d *device) refuseForeign() error {
	root, _, err := d.qdiscs()
	if err != nil {
		return err
	}
	if root == nil || root.ours() {
		return nil
	}
	return fmt.Errorf("device %s has a qdisc that netem-agent did not make (%s %s): remove it with tc qdisc del dev %s root, or name another device",
		d.iface, root.Kind, root.Handle, d.iface)
}

// setQdisc adds a qdisc, or changes it in place: at no moment do packets bypass it. at
// is root, or parent and a handle.
func (d *device) setQdisc(at []string, handle string, params []string) error {
	argv := append([]string{"tc", "qdisc", "replace", "dev", d.iface}, at...)
	return d.run(append(append(argv, "handle", handle), params...)...)
}

// clearQdiscs removes the agent's root qdisc and with it the child.
func (d *device) clearQdiscs() error {
	root, _, err := d.qdiscs()
	if err != nil || root == nil {
		return err
	}
	return d.run("tc", "qdisc", "del", "dev", d.iface, "root")
}

// checkTBF compares what the kernel says with what was asked.
func (s shape) checkTBF(q *qdisc) error {
	switch {
	case s.rateBytes == 0 && q != nil && q.Kind == "tbf":
		return fmt.Errorf("the kernel still limits the rate to %d bit/s", q.Options.Rate*8)
	case s.rateBytes == 0:
		return nil
	case q == nil || q.Kind != "tbf":
		return fmt.Errorf("the kernel shows no tbf")
	case q.Options.Rate != s.rateBytes:
		return fmt.Errorf("tbf has the rate %d bit/s, not %d", q.Options.Rate*8, s.rateBytes*8)
	case q.Options.Limit != s.limit:
		return fmt.Errorf("tbf has the limit %d, not %d", q.Options.Limit, s.limit)
	case math.Abs(float64(q.Options.Burst-s.burst)) > 0.02*float64(s.burst):
		return fmt.Errorf("tbf has the burst %d, not %d", q.Options.Burst, s.burst)
	}
	return nil
}

// checkNetem is checkTBF for netem.
func (s shape) checkNetem(q *qdisc) error {
	switch {
	case q == nil || q.Kind != "netem":
		return fmt.Errorf("the kernel shows no netem")
	case math.Abs(q.Options.Delay.Delay-s.delay.Seconds()) > 2e-6:
		return fmt.Errorf("netem has the delay %v s, not %v", q.Options.Delay.Delay, s.delay.Seconds())
	case q.Options.Limit != s.netemLimit:
		return fmt.Errorf("netem has the limit %d, not %d", q.Options.Limit, s.netemLimit)
	case math.Abs(q.Options.Loss.Loss*100-s.lossPercent) > 1e-4:
		return fmt.Errorf("netem has the loss %v %%, not %v", q.Options.Loss.Loss*100, s.lossPercent)
	}
	return nil
}
