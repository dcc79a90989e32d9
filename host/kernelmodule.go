package host

import "strings"

// packages install the modules that a distribution splits off from its kernel, by
// os-release(5)'s ID or ID_LIKE.
var packages = map[string]string{
	"ubuntu": "apt-get install linux-modules-extra-",
	"fedora": "dnf install kernel-modules-extra-",
	"rhel":   "dnf install kernel-modules-extra-",
	"centos": "dnf install kernel-modules-extra-",
}

// ModuleFix returns the commands that load a module, installing it first where the
// distribution (the text of /etc/os-release) has it in a package beside the
// kernel. release is the running kernel's, as uname -r prints it.
func ModuleFix(module, osRelease, release string) string {
	load := "modprobe " + module
	if strings.Contains(strings.ToLower(release), "microsoft") {
		return load + "; where WSL's kernel lacks it, update that (wsl --update) or build one with it"
	}
	for line := range strings.Lines(osRelease) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key != "ID" && key != "ID_LIKE" {
			continue
		}
		for _, id := range strings.Fields(strings.Trim(value, `"'`)) {
			if install := packages[id]; install != "" {
				return install + release + " && " + load
			}
		}
	}
	return load + "; where the kernel " + release + " lacks it, boot the distribution's own"
}
