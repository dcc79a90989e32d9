package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// profiles are named sets of variables. A variable that is given explicitly
// goes before the profile's.
var profiles = map[string]map[string]string{
	// quick shows in a few minutes whether everything works, and the rough
	// picture at 1 Gbit/s.
	"quick": {
		"CONCURRENCY": "1,10,100,1000",
		"LINKS":       "1gbit/40ms",
		"MODES":       "full,1MiB",
		"DURATION":    "5s",
	},
}

func profileNames() []string { return slices.Sorted(maps.Keys(profiles)) }

func profileNamed(name string) (map[string]string, error) {
	if p, ok := profiles[name]; ok || name == "" {
		return p, nil
	}
	return nil, fmt.Errorf("PROFILE=%s: unknown; known: %s", name, strings.Join(profileNames(), ", "))
}
