package host

import "testing"

func TestModuleFix(t *testing.T) {
	for _, c := range []struct{ name, osRelease, release, want string }{
		{"Ubuntu", "ID=ubuntu\nID_LIKE=debian\n", "6.8.0-45-generic", "apt-get install linux-modules-extra-6.8.0-45-generic && modprobe sch_netem"},
		{"a child of Ubuntu", "ID=pop\nID_LIKE=\"ubuntu debian\"\n", "6.9.3", "apt-get install linux-modules-extra-6.9.3 && modprobe sch_netem"},
		{"Debian has one kernel package", "ID=debian\n", "6.1.0-9-amd64", "modprobe sch_netem; where the kernel 6.1.0-9-amd64 lacks it, boot the distribution's own"},
		{"Rocky", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "5.14.0-427", "dnf install kernel-modules-extra-5.14.0-427 && modprobe sch_netem"},
		{"WSL", "ID=ubuntu\n", "5.15.153.1-microsoft-standard-WSL2", "modprobe sch_netem; where WSL's kernel lacks it, update that (wsl --update) or build one with it"},
		{"no os-release", "", "6.1", "modprobe sch_netem; where the kernel 6.1 lacks it, boot the distribution's own"},
	} {
		if got := ModuleFix("sch_netem", c.osRelease, c.release); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
