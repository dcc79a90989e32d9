package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// profiles are named sets of variables. A variable that is given explicitly takes
// precedence.
var profiles = map[string]map[string]string{
	// quick shows in a few minutes whether everything works, and the rough
	// picture at 1 Gbit/s.
	"quick": {
		"CONCURRENCY": "1,10,100,1000",
		"LINKS":       "1gbit/40ms",
		"MODES":       "full,1MiB",
		"DURATION":    "5s",
	},
	// boost-2023 is the load test of the Boost team's study of March 2023: every
	// client makes one request and has 30 minutes for it. Its pieces had 32 GiB;
	// with PIECE_SIZE=32GiB give DURATION=24h too.
	"boost-2023": {
		"CONCURRENCY": "10,100,1000/full:1,8,16,32,64",
		"LINKS":       "1gbit/40ms,10gbit/40ms",
		"MODES":       "full,1MiB,10MiB,100MiB",
		"REQUESTS":    "1",
		"DURATION":    "30m",
		"WARMUP":      "0s",
	},
	// seaweedfs-2023 is the study of SeaweedFS and GlusterFS, with both layouts on both
	// systems. SCALE=1 is its 8.4 TB.
	"seaweedfs-2023": {
		"WORKLOAD":    "scan",
		"TARGETS":     "seaweedfs,glusterfs",
		"CONCURRENCY": "300,",
		"LINKS":       "none",
		"DURATION":    "2m",
		"WARMUP":      "1m",
	},
	// sia-2018 is the study of Sia's synchronization: its peers sent 8 Mbit/s. A faster
	// link shows what larger batches save.
	"sia-2018": {
		"WORKLOAD": "batch",
		"LINKS":    "8mbit/40ms,250mbit/40ms",
	},
}

func profileNames() []string { return slices.Sorted(maps.Keys(profiles)) }

func profileNamed(name string) (map[string]string, error) {
	if p, ok := profiles[name]; ok || name == "" {
		return p, nil
	}
	return nil, fmt.Errorf("PROFILE=%s: unknown; known: %s", name, strings.Join(profileNames(), ", "))
}
