package doctor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"piecebench/host"
	"piecebench/lab"
)

// noEngine says what containers lack here, as scripts/lab asks it.
func (h *Host) noEngine() string {
	if h.engine == nil {
		why := ""
		if _, err := h.LookPath("docker"); err != nil {
			why = "there is no docker command"
		} else if _, err := h.Run("docker", "version", "--format", "{{.Server.Version}}"); err != nil {
			why = "no Docker engine answers"
		} else if _, err := h.Run("docker", "compose", "version"); err != nil {
			why = "docker has no compose plugin"
		}
		h.engine = &why
	}
	return *h.engine
}

func runtime(h *Host) (Finding, error) {
	why := h.noEngine()
	switch {
	case h.Settings.Runtime == "compose" && why != "":
		return blocks("install Docker with its compose plugin and start it, or make bench RUNTIME=native", "%s", "RUNTIME=compose, but "+why)
	case h.Settings.Runtime == "native":
		return note("", "the lab is native, as asked")
	case why != "":
		return note("", "%s", "the lab is native, because "+why)
	}
	return note("", "the lab is containers; make bench RUNTIME=native does without")
}

func root(h *Host) (Finding, error) {
	if h.UID == 0 {
		return clean, nil
	}
	return blocks("sudo make bench", "user ID %d cannot make network namespaces", h.UID)
}

func programs(h *Host) (Finding, error) {
	var missing []string
	tools := lab.Tools(h.Settings.LabServers())
	for _, program := range slices.Sorted(maps.Keys(tools)) {
		if _, err := h.LookPath(program); err != nil {
			missing = append(missing, fmt.Sprintf("%s (package %s)", program, tools[program]))
		}
	}
	if missing != nil {
		return blocks("sudo scripts/setup", "%s", "missing: "+strings.Join(missing, ", "))
	}
	if _, err := h.LookPath("prometheus"); err != nil {
		return note("sudo scripts/setup", "prometheus is missing: a native lab has no live metrics")
	}
	return clean, nil
}

// rate checks that the kernel can limit it.
func rate(h *Host) (Finding, error) {
	if err := h.mayTry(); err != nil {
		return clean, err
	}
	if err := h.qdisc("tbf", "rate", "1gbit", "burst", "128kb", "limit", "1mb"); err != nil {
		return blocks(h.moduleFix("sch_tbf"), "%s", "the kernel has no sch_tbf, which limits the links' rate: "+err.Error())
	}
	return clean, nil
}

// delay checks that it can be made: by the kernel, or else by the link agent.
func delay(h *Host) (Finding, error) {
	if err := h.mayTry(); err != nil {
		return clean, err
	}
	netem := h.qdisc("netem", "limit", "1000")
	if netem == nil {
		return clean, nil
	}
	if tun := h.Isolated("ip", "tuntap", "add", "dev", "doctor0", "mode", "tun"); tun != nil {
		return blocks(h.moduleFix("sch_netem")+"; or "+h.moduleFix("tun"), "the kernel cannot make a delay (%v), nor can the link agent (%v)", netem, tun)
	}
	return note(h.moduleFix("sch_netem"), "the kernel has no sch_netem: the link agent makes the delay, which takes a part of a CPU")
}

// mayTry says why it cannot be tried what qdiscs the kernel has.
func (h *Host) mayTry() error {
	if h.UID != 0 {
		return errors.New("only root can try it")
	}
	for _, program := range []string{"ip", "tc"} {
		if _, err := h.LookPath(program); err != nil {
			return errors.New(program + " is not here to try it with")
		}
	}
	return nil
}

// qdisc tries one on a device that nobody else sees.
func (h *Host) qdisc(params ...string) error {
	return h.Isolated(append([]string{"tc", "qdisc", "add", "dev", "lo", "root"}, params...)...)
}

func (h *Host) moduleFix(module string) string {
	return host.ModuleFix(module, h.read("etc/os-release"), h.read("proc/sys/kernel/osrelease"))
}
