package netem

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"piecebench/netem/client"
	"piecebench/netem/delayline"
	"piecebench/netem/link"
)

// userspace makes the link without sch_netem. The kernel's tbf on the egress sets
// the rate. The delay is on the return path: packets from the clients pass a delay
// line before they are delivered. TCP sees the same RTT, and the delay line carries
// only about one packet for every thirteen packets of data.
type userspace struct {
	*device
	line *delayline.Line // nil without a delay
	lost int64           // packets that were lost beside the line until it was set
	loss *nftLoss        // nil without loss
}

func (u *userspace) name() string { return client.Userspace }

// The queue of the TUN device holds the packets that arrive while the thread of the
// delay line waits for a CPU. With a tenth of it, 8 to 20 % of the acknowledgements of
// 1000 clients at 10 Gbit/s were lost on two cores, and requests among them.
const tunQueue = 100_000

// Memory of the delay line: the bandwidth-delay product, as if the clients sent as
// fast as the servers, and the same again for headers.
const (
	minLineBytes = 4 << 20
	maxLineBytes = 256 << 20
)

func lineBytes(spec link.Spec) int {
	if spec.RateBits == 0 {
		return maxLineBytes
	}
	return int(min(max(2*spec.BDP(), minLineBytes), maxLineBytes))
}

func (u *userspace) set(spec link.Spec) error {
	if err := u.setLoss(spec); err != nil {
		return err
	}
	want := shapeOf(spec)
	if err := u.setRate(want); err != nil {
		return err
	}
	if err := u.setDelay(spec); err != nil {
		return err
	}
	root, _, err := u.qdiscs()
	return errors.Join(err, want.checkTBF(root))
}

func (u *userspace) setRate(want shape) error {
	if want.rateBytes == 0 {
		return u.clearQdiscs()
	}
	return u.setQdisc([]string{"root"}, rootHandle, want.tbf())
}

func (u *userspace) setDelay(spec link.Spec) error {
	switch {
	case spec.Delay == 0:
		return u.closeLine()
	case u.line == nil:
		if err := u.openLine(spec); err != nil {
			return errors.Join(err, u.closeLine())
		}
	default:
		if err := u.line.Err(); err != nil {
			return fmt.Errorf("%w: restart the agent", err)
		}
		if err := u.line.Set(spec.Delay, lineBytes(spec)); err != nil {
			return err
		}
		if err := u.checkDetour(); err != nil {
			return err
		}
	}
	u.spreadTUN(spec)
	return u.noteLost()
}

func (u *userspace) noteLost() (err error) {
	u.lost, err = lostBesideLine()
	return err
}

func (u *userspace) openLine(spec link.Spec) error {
	tun, err := delayline.CreateTUN(tunName)
	if err != nil {
		return err
	}
	u.say("ip", "tuntap", "add", "dev", tunName, "mode", "tun")
	if err := u.prepareTUN(); err != nil {
		unix.Close(tun)
		return err
	}
	if u.line, err = delayline.Start(tun, u.mtu, spec.Delay, lineBytes(spec)); err != nil {
		unix.Close(tun)
		return err
	}
	return u.addDetour()
}

func (u *userspace) prepareTUN() error {
	argv := []string{"ip", "link", "set", "dev", tunName, "mtu", strconv.Itoa(u.mtu), "txqueuelen", strconv.Itoa(tunQueue)}
	if hasIPv6() {
		argv = append(argv, "addrgenmode", "none") // or the kernel sends router solicitations into the line
	}
	if err := u.run(append(argv, "up")...); err != nil {
		return err
	}
	// Delayed packets arrive on a device that has no route to their source.
	// rp_filter=1 drops such packets. The larger of the values for all devices and
	// for this device applies.
	if err := u.setSysctl("net/ipv4/conf/all/rp_filter", "0"); err != nil {
		return err
	}
	const ofTUN = "net/ipv4/conf/" + tunName + "/rp_filter" // goes with the device, so its old value is not noted
	if value, err := readSysctl(ofTUN); err != nil {
		return err
	} else if value != "0" {
		if err := u.writeSysctl(ofTUN, "0"); err != nil {
			return err
		}
	}
	if err := u.setSysctl("net/ipv4/conf/"+u.iface+"/forwarding", "1"); err != nil {
		return err
	}
	// With early demux, packets of established sockets are never routed.
	return u.setSysctl("net/ipv4/ip_early_demux", "0")
}

// othersCarry is the rate in bit/s up to which each other CPU than the line's can carry
// the link's TCP, both ends of it: with 1000 connections 2.1 to 3.9 Gbit/s were measured.
const othersCarry = 2e9

// spreadTUN lets the CPUs process what comes out of the line (receive packet steering).
// Otherwise the line's thread carries each acknowledgement through TCP, and the data that
// it releases to the other end, by itself: 128 flows at 10 Gbit/s were measured to get
// 7.1 Gbit/s, and 9.57 with steering. The line's own CPU is left out where the others
// suffice: with it, the line was late for 96 % of the packets of 1000 clients at 1 Gbit/s
// on two cores, while the other core was idle for two thirds of the time; without it, for
// 1 to 8 %. Where /sys is read-only the link works without.
func (u *userspace) spreadTUN(spec link.Spec) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return
	}
	mask := cpuMask(steered(set, spec.RateBits))
	if steeringMask() == mask {
		return
	}
	err := os.WriteFile(steering, []byte(mask), 0)
	if err == nil {
		u.say("sh", "-c", "echo "+mask+" > "+steering)
	} else if strings.Trim(steeringMask(), "0,") == "" { // or net.core.rps_default_mask has set it
		fmt.Fprintf(u.log, "# no receive packet steering, so that one CPU does most of the work: %v: make /sys writable, or set the sysctl net.core.rps_default_mask\n", err)
	}
}

// steered returns those of a set of CPUs that process what comes out of the line.
func steered(set unix.CPUSet, rateBits int64) unix.CPUSet {
	if others := int64(set.Count() - 1); rateBits > 0 && rateBits <= others*othersCarry {
		set.Clear(delayline.CPU(set))
	}
	return set
}

const steering = "/sys/class/net/" + tunName + "/queues/rx-0/rps_cpus"

// cpuMask returns a set in the format of sysfs: groups of 32 bits in hexadecimal,
// highest first.
func cpuMask(set unix.CPUSet) string {
	var groups []string
	for low := 0; set.Count() > 0; low += 32 {
		var bits uint32
		for cpu := low; cpu < low+32; cpu++ {
			if set.IsSet(cpu) {
				bits |= 1 << (cpu - low)
				set.Clear(cpu)
			}
		}
		groups = append(groups, fmt.Sprintf("%x", bits))
	}
	slices.Reverse(groups)
	return strings.Join(groups, ",")
}

// steeringMask returns the CPUs that share the work, "0" when the line's thread
// does it all.
func steeringMask() string {
	text, err := os.ReadFile(steering)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// lostBesideLine returns how many packets were lost where the line does not see it: in
// the queue of the TUN device, when the line's thread had no CPU for longer than the
// queue lasts, and in the packet backlogs of the host's CPUs
// (net.core.netdev_max_backlog), through which data and acknowledgements go.
func lostBesideLine() (int64, error) {
	tun, err := netlink.LinkByName(tunName)
	if err != nil {
		return 0, fmt.Errorf("read the counters of %s: %w", tunName, err)
	}
	lost := int64(tun.Attrs().Statistics.TxDropped)
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, err
	}
	cpus, err := proc.NetSoftnetStat()
	if err != nil {
		return 0, fmt.Errorf("read the packet backlogs of the CPUs: %w", err)
	}
	for _, cpu := range cpus {
		lost += int64(cpu.Dropped)
	}
	return lost, nil
}

// closeLine delivers what the line holds and removes the line, also if only parts
// of it are there.
func (u *userspace) closeLine() error {
	err := u.removeDetour()
	if u.line != nil {
		err = errors.Join(err, u.line.Close())
		u.line = nil
	}
	return errors.Join(err, u.restoreSysctls())
}

func (u *userspace) setLoss(spec link.Spec) error {
	switch {
	case spec.Loss > 0 && u.loss == nil:
		loss, err := newLoss(u.device, spec.Loss)
		if err != nil {
			return err
		}
		u.loss = loss
	case spec.Loss > 0:
		if err := u.loss.set(u.device, spec.Loss); err != nil {
			return err
		}
	case u.loss != nil:
		if err := u.loss.remove(u.device); err != nil {
			return err
		}
		u.loss = nil
	}
	return u.setLossUnit(spec)
}

func (u *userspace) state() (client.State, error) {
	var s client.State
	root, _, err := u.qdiscs()
	if err != nil {
		return s, err
	}
	if root != nil {
		s.Stats = statsOf(root)
		addTBF(&s, root)
	}
	if u.loss != nil {
		rate, lost, err := readLoss()
		if err != nil {
			return s, err
		}
		s.Loss, s.Stats.LossDrops = float64(rate)/lossUnits, lost
	}
	if u.line != nil {
		s.DelayMs = float64(u.line.Delay()) / float64(time.Millisecond)
		line := u.line.Stats()
		lost, err := lostBesideLine()
		if err != nil {
			return s, err
		}
		s.Stats.DelayLine = &client.DelayLine{
			Packets:       line.Packets,
			Dropped:       line.Dropped + lost - u.lost,
			Shed:          line.Shed,
			Queued:        line.Queued,
			Late:          line.Lateness.Count - line.Lateness.Below(1<<10-1),
			Held:          line.Lateness.Count - line.Lateness.Below(client.HeldAfter.Microseconds()-1),
			LatenessP50Us: line.Lateness.Quantile(0.5),
			LatenessP99Us: line.Lateness.Quantile(0.99),
			LatenessMaxUs: line.Lateness.MaxUs,
			Priority:      line.Priority,
			SteeringCPUs:  steeringMask(),
		}
	}
	return s, nil
}

func (u *userspace) healthy() error {
	if u.line == nil {
		return nil
	}
	return u.line.Err()
}

func (u *userspace) restore() error {
	err := u.closeLine()
	if u.loss != nil {
		err = errors.Join(err, u.loss.remove(u.device))
		u.loss = nil
	} else {
		err = errors.Join(err, removeLossTable(u.device))
	}
	return errors.Join(err, u.clearQdiscs(), u.freeGSO())
}
