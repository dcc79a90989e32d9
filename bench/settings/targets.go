package settings

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"piecebench/bench/workload"
	"piecebench/internal/plain"
	"piecebench/piece/pieceurl"
	"piecebench/servers"
)

// TargetsVariable names what is measured, and so what a lab starts.
const TargetsVariable = "TARGETS"

// Target is one server that is measured.
type Target struct {
	Name string
	// URL is a template of package pieceurl, ObjectURL has {object} in place of an
	// object's name; a target of one's own may lack either, and one of the lab has
	// both only once the lab is known. They may hold secrets: what is shown or kept of
	// them is plain.URL.
	URL, ObjectURL string
	// Header is what its requests have beside the usual. It is secret.
	Header http.Header
}

// InLab tells that a target was named without a URL: it is a server of the lab.
func (t Target) InLab() bool { return t.Address() == "" }

// Address returns a URL that leads to the server, with its placeholder.
func (t Target) Address() string {
	if t.URL != "" {
		return t.URL
	}
	return t.ObjectURL
}

// targetsText is the value of TARGETS without its secrets.
func targetsText(targets []Target) string {
	var fields []string
	for _, t := range targets {
		if t.InLab() {
			fields = append(fields, t.Name)
		}
		for _, address := range []string{t.URL, t.ObjectURL} {
			if address != "" {
				fields = append(fields, t.Name+"="+plain.URL(address))
			}
		}
	}
	return strings.Join(fields, ",")
}

// ObjectPlaceholder stands in a target's URL for an object's name. What stands for a
// piece CID is in package pieceurl.
const ObjectPlaceholder = "{object}"

// targetName keeps names fit for file names, labels and table columns.
var targetName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)

func parseTargets(text string) (targets []Target, err error) {
	for field := range strings.SplitSeq(text, ",") {
		name, address, own := strings.Cut(strings.TrimSpace(field), "=")
		if !targetName.MatchString(name) {
			return nil, fmt.Errorf("target name %q: want letters, digits, '.', '_' or '-', 40 at most", plain.URL(name))
		}
		if _, ok := servers.Of(name); !own && !ok {
			return nil, fmt.Errorf("target %s: the lab has %s; another server is name=http://host/piece/%s", name, strings.Join(servers.Targets(), ", "), pieceurl.V1)
		}
		i := slices.IndexFunc(targets, func(t Target) bool { return t.Name == name })
		if i < 0 {
			i = len(targets)
			targets = append(targets, Target{Name: name})
		} else if !own || targets[i].InLab() {
			return nil, fmt.Errorf("target %s is listed twice", name)
		}
		if own {
			if err := targets[i].add(address); err != nil {
				return nil, err
			}
		}
	}
	return targets, nil
}

// add takes a URL of the target: that of its pieces, or that of its objects.
func (t *Target) add(address string) error {
	u, err := url.Parse(address)
	_, noPiece := pieceurl.Version(address)
	objects := strings.Contains(address, ObjectPlaceholder)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || (noPiece == nil) == objects {
		return fmt.Errorf("target %s: want %s=http://host/piece/%s, or of objects http://host/object/%s", t.Name, t.Name, pieceurl.V1, ObjectPlaceholder)
	}
	if strings.Contains(address, plain.Hidden) {
		return fmt.Errorf("target %s: %s hides a user and password, or a query, which are not recorded: give them again", t.Name, plain.Hidden)
	}
	into := &t.URL
	if objects {
		into = &t.ObjectURL
	}
	if *into != "" {
		return fmt.Errorf("target %s is listed twice", t.Name)
	}
	*into = address
	return nil
}

// CheckURLs refuses targets that lack the URL which the workload needs. A script of one's
// own may need either.
func CheckURLs(id string, targets []Target) error {
	w := workload.Of(id)
	for _, t := range targets {
		r, _ := servers.Of(t.Name)
		switch {
		case t.InLab() && w.Objects && !slices.Contains(r.Serves, servers.Objects):
			return fmt.Errorf("%s=%s asks for objects, and the lab's %s serves only pieces: name another target", workloadVariable, w.Name, t.Name)
		case t.InLab() || w.Own():
		case w.Objects && t.ObjectURL == "":
			return fmt.Errorf("%s=%s asks for objects, and target %s has none: another server is name=http://host/object/%s", workloadVariable, w.Name, t.Name, ObjectPlaceholder)
		case !w.Objects && t.URL == "":
			return fmt.Errorf("%s=%s asks for pieces, and target %s has none: another server is name=http://host/piece/%s", workloadVariable, w.Name, t.Name, pieceurl.V1)
		}
	}
	return nil
}
