package fingerprint

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"piecebench/servers"
	"piecebench/version"
)

// versions sets the versions of the programs. If they run in containers, the environment
// of the lab names the images.
func (f facts) versions(k6 string, lab []servers.Recipe) {
	f.set("piecebench", version.Number)
	f.set("revision", version.Revision)
	f.set("go", runtime.Version())
	f.set("k6", firstLine(k6, "version"))
	f.set("iproute2", strings.TrimPrefix(firstLine("ip", "-V"), "ip utility, "))
	images := os.Getenv("LAB_IMAGES") // name@ID, separated by spaces
	f.set("images", images)
	for _, r := range lab {
		argv := slices.Clone(r.Version)
		argv[0] = strings.NewReplacer(servers.Bin, filepath.Dir(k6), servers.Python, r.PythonDir()).Replace(argv[0])
		f.set(r.Name, leading.ReplaceAllString(firstLine(argv[0], argv[1:]...), ""))
		for image := range strings.FieldsSeq(images) {
			name, _, _ := strings.Cut(image, "@")
			if repository, _, tagged := strings.Cut(name, ":"); tagged && path.Base(repository) == r.Name {
				f.set(r.Name, name)
			}
		}
	}
}

// leading is the text that a program prints before its version.
var leading = regexp.MustCompile(`^.*\bversion:? `)

// firstLine runs a program and returns the first line of its output. It is empty if the
// program is missing or fails.
func firstLine(name string, args ...string) string {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}
