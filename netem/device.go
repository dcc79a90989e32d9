package netem

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// device is the interface whose egress is shaped.
//
// Its alias holds the values to restore, so these last as long as the changes do: they
// survive a kill -9 of the agent, and disappear with the namespace.
type device struct {
	commands
	iface string
	mtu   int
	// found is the state before the agent: sysctls by name, and gsoSegs.
	found map[string]string
	alias string // the alias that was found, without the agent's part
}

// gsoSegs is the device's limit of segments in one GSO packet.
const gsoSegs = "gso_max_segs"

// aliasMark separates an alias of the device from what the agent adds to it.
const aliasMark = "netem-agent:"

type linkInfo struct {
	Name    string   `json:"ifname"`
	MTU     int      `json:"mtu"`
	Alias   string   `json:"ifalias"`
	GSOSegs int      `json:"gso_max_segs"`
	Flags   []string `json:"flags"`
}

func readLink(name string) (linkInfo, error) {
	var links []linkInfo
	if err := query(&links, "ip", "-d", "-j", "link", "show", "dev", name); err != nil {
		return linkInfo{}, err
	}
	if len(links) != 1 {
		return linkInfo{}, fmt.Errorf("ip link show dev %s: it lists %d devices, not one", name, len(links))
	}
	return links[0], nil
}

// openDevice reads the device, and the notes of a killed agent on it.
func openDevice(c commands, name string) (*device, error) {
	info, err := readLink(name)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w: name one of this network namespace with --device (ip link lists them)", name, err)
	}
	d := &device{commands: c, iface: name, mtu: info.MTU, found: map[string]string{}}
	var notes string
	d.alias, notes, _ = strings.Cut(info.Alias, aliasMark)
	for _, note := range strings.FieldsFunc(notes, func(r rune) bool { return r == ',' }) {
		if key, value, ok := strings.Cut(note, "="); ok {
			d.found[key] = value
		}
	}
	return d, nil
}

// setSysctl changes a sysctl, unless it has the value already, and notes the old value.
func (d *device) setSysctl(name, value string) error {
	old, err := readSysctl(name)
	if err != nil || old == value {
		return err
	}
	if err := d.note(name, old); err != nil {
		return err
	}
	return d.writeSysctl(name, value)
}

// limitGSO sets how many segments one GSO packet may have. Sockets adopt it with their
// next route lookup, hence the flush.
func (d *device) limitGSO(segments int) error {
	info, err := readLink(d.iface)
	if err != nil || info.GSOSegs == segments {
		return err
	}
	if err := d.note(gsoSegs, strconv.Itoa(info.GSOSegs)); err != nil {
		return err
	}
	if err := d.run("ip", "link", "set", "dev", d.iface, gsoSegs, strconv.Itoa(segments)); err != nil {
		return err
	}
	return d.run("ip", "route", "flush", "cache")
}

// freeGSO undoes limitGSO.
func (d *device) freeGSO() error {
	old, ok := d.found[gsoSegs]
	if !ok {
		return nil
	}
	segments, err := strconv.Atoi(old)
	if err != nil {
		return fmt.Errorf("device %s: its alias says %s=%s, which is not a number: clear it with ip link set dev %s alias ''", d.iface, gsoSegs, old, d.iface)
	}
	if err := d.limitGSO(segments); err != nil {
		return err
	}
	return d.forget(gsoSegs)
}

// restoreSysctls undoes every setSysctl.
func (d *device) restoreSysctls() error {
	for _, name := range slices.Sorted(maps.Keys(d.found)) {
		if name == gsoSegs {
			continue
		}
		if err := d.writeSysctl(name, d.found[name]); err != nil {
			return err
		}
		if err := d.forget(name); err != nil {
			return err
		}
	}
	return nil
}

// note keeps the first value seen, before it is changed.
func (d *device) note(key, value string) error {
	if _, ok := d.found[key]; ok {
		return nil
	}
	d.found[key] = value
	return d.writeAlias()
}

func (d *device) forget(key string) error {
	delete(d.found, key)
	return d.writeAlias()
}

func (d *device) writeAlias() error {
	var notes []string
	for _, key := range slices.Sorted(maps.Keys(d.found)) {
		notes = append(notes, key+"="+d.found[key])
	}
	text := d.alias
	if notes != nil {
		text += aliasMark + strings.Join(notes, ",")
	}
	if len(text) > 255 { // IFALIASZ is 256
		return fmt.Errorf("device %s: its alias is too long to note in it what to restore: shorten it with ip link set dev %s alias", d.iface, d.iface)
	}
	return d.run("ip", "link", "set", "dev", d.iface, "alias", text)
}
