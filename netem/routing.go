package netem

import (
	"errors"
	"os"
	"slices"
	"strconv"
)

// The detour of the return path: IPv4 packets that come in through the shaped
// device are routed into the TUN device, and what comes out of that is
// delivered as usual. The rule for the table local, which has the local addresses, is
// the first by default. It moves behind the rules of the detour.
const (
	tunName     = "netem0"
	detourTable = "9100"
	localPref   = "9109"
)

// Each rule names a protocol. A rule without one would also match the lookup for an
// ARP request, and the device would no longer answer. Protocols are numbers, because
// ip reads their names from /etc/protocols, which minimal images lack.
var detourRules = []struct{ pref, protocol string }{{"9101", tcp}, {"9102", udp}, {"9103", icmp}}

const tcp, udp, icmp = "6", "17", "1"

// IPv6 has no detour. Its connections are refused, because they would bypass the
// delay.
var closedRules = []struct{ pref, protocol string }{{"9101", tcp}, {"9102", udp}}

type rule struct {
	Pref     int    `json:"priority"`
	Table    string `json:"table"`
	Iif      string `json:"iif"`
	Protocol string `json:"ipproto"` // "ipproto-6": ip -N leaves out names
}

func rules(family string) (map[string]rule, error) {
	var list []rule
	if err := query(&list, "ip", family, "-N", "-j", "rule"); err != nil {
		return nil, err
	}
	byPref := map[string]rule{}
	for _, r := range list {
		byPref[strconv.Itoa(r.Pref)] = r
	}
	return byPref, nil
}

type route struct {
	Type  string `json:"type"`
	Dst   string `json:"dst"`
	Dev   string `json:"dev"`
	Table string `json:"table"`
}

func detourRoutes() ([]route, error) {
	var all []route
	// Asking for one table is an error while it does not exist.
	if err := query(&all, "ip", "-4", "-j", "route", "show", "table", "all"); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r route) bool { return r.Table != detourTable }), nil
}

// addDetour sends the return path through the TUN device. The unreachable route is
// added first and stays when the device is gone: if the delay line dies, traffic stops.
func (d *device) addDetour() error {
	steps := [][]string{
		{"-4", "route", "replace", "unreachable", "default", "metric", "4294967295", "table", detourTable},
		{"-4", "route", "replace", "default", "dev", tunName, "table", detourTable},
	}
	if hasIPv6() {
		steps = append(steps, moveLocal("-6")...)
		for _, r := range closedRules {
			steps = append(steps, []string{"-6", "rule", "add", "pref", r.pref, "iif", d.iface, "ipproto", r.protocol, "prohibit"})
		}
	}
	steps = append(steps, moveLocal("-4")...)
	for _, r := range detourRules {
		steps = append(steps, []string{"-4", "rule", "add", "pref", r.pref, "iif", d.iface, "ipproto", r.protocol, "lookup", detourTable})
	}
	for _, step := range steps {
		if err := d.run(append([]string{"ip"}, step...)...); err != nil {
			return err
		}
	}
	return d.checkDetour()
}

func moveLocal(family string) [][]string {
	return [][]string{
		{family, "rule", "add", "pref", localPref, "lookup", "local"},
		{family, "rule", "del", "pref", "0"},
	}
}

// checkDetour checks in the kernel what addDetour did.
func (d *device) checkDetour() error {
	have, err := rules("-4")
	if err != nil {
		return err
	}
	for _, r := range detourRules {
		if got := have[r.pref]; got.Iif != d.iface || got.Protocol != "ipproto-"+r.protocol || got.Table != detourTable {
			return errors.New("the kernel does not show the ip rule that delays protocol " + r.protocol + " from " + d.iface)
		}
	}
	if _, local := have["0"]; local {
		return errors.New("the kernel shows an ip rule of preference 0, before those of the delay line")
	}
	routes, err := detourRoutes()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(routes, func(r route) bool { return r.Dst == "default" && r.Dev == tunName }) {
		return errors.New("the kernel does not show the route into " + tunName + " in table " + detourTable)
	}
	return nil
}

// removeDetour undoes addDetour, also if only parts of it are there.
func (d *device) removeDetour() error {
	var errs []error
	for _, family := range []string{"-4", "-6"} {
		if family == "-6" && !hasIPv6() {
			continue
		}
		have, err := rules(family)
		if err != nil {
			return err
		}
		for _, r := range detourRules {
			if _, ok := have[r.pref]; ok {
				errs = append(errs, d.run("ip", family, "rule", "del", "pref", r.pref))
			}
		}
		if _, moved := have[localPref]; !moved {
			continue
		}
		if _, ok := have["0"]; !ok {
			errs = append(errs, d.run("ip", family, "rule", "add", "pref", "0", "lookup", "local"))
		}
		errs = append(errs, d.run("ip", family, "rule", "del", "pref", localPref))
	}
	routes, err := detourRoutes()
	if err == nil && len(routes) > 0 {
		err = d.run("ip", "-4", "route", "flush", "table", detourTable)
	}
	return errors.Join(append(errs, err)...)
}

func hasIPv6() bool {
	_, err := os.Stat("/proc/sys/net/ipv6")
	return err == nil
}
