package netem

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"piecebench/netem/delayline"
)

// nftLoss loses packets of the servers' egress without netem: nftables picks
// them at random and forwards them to a device that is down. A plain drop would not
// work: the kernel reports it to TCP at once, so TCP sees no loss.
type nftLoss struct{ tun int }

const (
	lossTable  = "netem_agent"
	lossDevice = "netemloss0"
	lossUnits  = 1_000_000_000 // a loss is a number of these
)

var errNoLoss = errors.New("this kernel or container cannot lose packets without sch_netem")

// newLoss starts losing packets of the device.
func newLoss(d *device, loss float64) (*nftLoss, error) {
	tun, err := delayline.CreateTUN(lossDevice)
	if err != nil {
		return nil, err
	}
	d.say("ip", "tuntap", "add", "dev", lossDevice, "mode", "tun")
	l := &nftLoss{tun: tun}
	if err := l.set(d, loss); err != nil {
		return nil, errors.Join(err, l.remove(d))
	}
	return l, nil
}

// set changes the loss in one transaction.
func (l *nftLoss) set(d *device, loss float64) error {
	chain := "netdev " + lossTable + " egress"
	err := d.run("nft", fmt.Sprintf("add table netdev %s; add chain %s { type filter hook egress device %q priority 0; }; "+
		"flush chain %s; add rule %s numgen random mod %d < %d counter fwd to %s",
		lossTable, chain, d.iface, chain, chain, lossUnits, lossRate(loss), lossDevice))
	if err != nil {
		return fmt.Errorf("%w: it needs nftables 1.0.1 and Linux 5.16 with NFT_FWD_NETDEV and NFT_NUMGEN: %w", errNoLoss, err)
	}
	got, _, err := readLoss()
	if err == nil && got != lossRate(loss) {
		err = fmt.Errorf("nftables has the loss %d per %d, not %d", got, lossUnits, lossRate(loss))
	}
	return err
}

func lossRate(loss float64) int64 { return int64(math.Round(loss * lossUnits)) }

func (l *nftLoss) remove(d *device) error {
	err := removeLossTable(d)
	unix.Close(l.tun)
	return err
}

// removeLossTable removes the table, if there is one.
func removeLossTable(d *device) error {
	if _, err := output("nft", "list", "table", "netdev", lossTable); err != nil {
		return nil // no such table, or no nft to have made one
	}
	return d.run("nft", "delete", "table", "netdev", lossTable)
}

// readLoss returns the rate in lossUnits and the packets lost so far.
func readLoss() (rate, lost int64, err error) {
	var list struct {
		Items []struct {
			Rule struct {
				Expr []struct {
					Match struct {
						Right json.RawMessage `json:"right"`
					} `json:"match"`
					Counter struct {
						Packets int64 `json:"packets"`
					} `json:"counter"`
				} `json:"expr"`
			} `json:"rule"`
		} `json:"nftables"`
	}
	if err := query(&list, "nft", "-j", "list", "table", "netdev", lossTable); err != nil {
		return 0, 0, err
	}
	for _, item := range list.Items {
		for _, e := range item.Rule.Expr {
			if e.Match.Right != nil {
				if err := json.Unmarshal(e.Match.Right, &rate); err != nil {
					return 0, 0, fmt.Errorf("nft list table netdev %s: the rule is not the agent's: %w", lossTable, err)
				}
			}
			lost += e.Counter.Packets
		}
	}
	return rate, lost, nil
}
