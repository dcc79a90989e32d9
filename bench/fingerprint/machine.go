package fingerprint

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// machine describes the processor, the memory and the kernel, with the kernel settings that
// change the speed of a CPU.
func (f facts) machine() {
	f.set("host", f.host())
	f.set("arch", runtime.GOARCH)
	f.set("cpus", fmt.Sprint(runtime.NumCPU()))
	f.set("kernel", f.read("proc/sys/kernel/osrelease"))
	f.set("os", f.osName())
	if proc, err := f.proc(); err == nil {
		if cpus, err := proc.CPUInfo(); err == nil && len(cpus) > 0 {
			f.set("cpu", cpus[0].ModelName)
			cores := map[[2]string]bool{}
			for _, c := range cpus {
				cores[[2]string{c.PhysicalID, c.CoreID}] = true
			}
			if cpus[0].CoreID != "" { // arm64 has none
				f.set("cores", fmt.Sprint(len(cores)))
			}
			f.set("virtualization", f.virtualization(slices.Contains(cpus[0].Flags, "hypervisor")))
		}
		if mem, err := proc.Meminfo(); err == nil && mem.MemTotalBytes != nil {
			f.set("memory", fmt.Sprintf("%.1f GiB", float64(*mem.MemTotalBytes)/(1<<30)))
		}
	}
	if sys, err := f.sys(); err == nil {
		if flaws, err := sys.CPUVulnerabilities(); err == nil {
			for name := range flaws {
				if text := f.read("sys/devices/system/cpu/vulnerabilities", name); text != "Not affected" {
					f.set("mitigation "+name, text)
				}
			}
		}
		if clocks, err := sys.ClockSources(); err == nil && len(clocks) > 0 {
			f.set("clock source", clocks[0].Current)
		}
	}
	f.set("governor", f.governors())
	f.set("transparent hugepages", chosen(f.read("sys/kernel/mm/transparent_hugepage/enabled")))
}

// host distinguishes machines of the same kind. It is a keyed hash of the machine ID, which
// other programs cannot use, as machine-id(5) requires. It is empty without a machine ID,
// as in a container.
func (f facts) host() string {
	id := f.read("etc/machine-id")
	if id == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(id))
	mac.Write([]byte("piecebench"))
	return fmt.Sprintf("%.4x", mac.Sum(nil))
}

// governors returns the frequency governors of the CPUs, each once. It is empty if the
// kernel does not control the frequency, as in most virtual machines.
func (f facts) governors() string {
	files, err := filepath.Glob(filepath.Join(f.root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	if err != nil {
		return ""
	}
	var governors []string
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			governors = append(governors, strings.TrimSpace(string(text)))
		}
	}
	slices.Sort(governors)
	return strings.Join(slices.Compact(governors), ", ")
}

// chosen returns the value in brackets, from a sysfs list such as
// "always [madvise] never".
func chosen(list string) string {
	_, rest, _ := strings.Cut(list, "[")
	value, _, _ := strings.Cut(rest, "]")
	return value
}

// virtualization returns the vendor and product of a virtual machine, as its firmware gives
// them, and "none" on bare metal. It does not read the serial numbers and tags of DMI.
func (f facts) virtualization(hypervisor bool) string {
	if !hypervisor {
		return "none"
	}
	vendor := strings.TrimSpace(f.read("sys/class/dmi/id/sys_vendor") + " " + f.read("sys/class/dmi/id/product_name"))
	if vendor == "" {
		return "unnamed hypervisor"
	}
	return vendor
}

// osName returns the distribution's name from os-release(5).
func (f facts) osName() string {
	for _, line := range strings.Split(f.read("etc/os-release"), "\n") {
		if value, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}
