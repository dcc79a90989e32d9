package host

import "strings"

// packages that hold the modules which a distribution splits off from its
// kernel, by os-release(5)'s ID or ID_LIKE.
var packages = []struct{ distribution, install string }{
	{"ubuntu", "apt-get install linux-modules-extra-"},
	{"fedora", "dnf install kernel-modules-extra-"},
	{"rhel", "dnf install kernel-modules-extra-"},
	{"centos", "dnf install kernel-modules-extra-"},
}

// ModuleFix returns the commands that load a module, installing it first where the
// distribution (the text of /etc/os-release) has it in a package beside the
// kernel. release is the running kernel's, as uname -r prints it.
func ModuleFix(module, osRelease, release string) string {
	load := "modprobe " + module
	if strings.Contains(strings.ToLower(release), "microsoft") {
		return load + "; where WSL's kernel lacks it, update that (wsl --update) or build one with it"
	}
	for _, p := range packages {
		for _, id := range identities(osRelease) {
			if id == p.distribution {
				return p.install + release + " && " + load
			}
		}
	}
	return load + "; where the kernel " + release + " lacks it, boot the distribution's own"
}

// identities returns the words of ID and ID_LIKE, the distribution's own first.
func identities(osRelease string) []string {
	var own, like []string
	for _, line := range strings.Split(osRelease, "\n") {
		key, value, _ := strings.Cut(line, "=")
		words := strings.Fields(strings.Trim(value, `"'`))
		switch key {
		case "ID":
			own = words
		case "ID_LIKE":
			like = words
		}
	}
	return append(own, like...)
}
