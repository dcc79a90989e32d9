package cell

import (
	"os"
	"strconv"
	"time"

	"piecebench/bench/plan"
	"piecebench/records"
)

// inherited are the variables of this process that k6 gets too: where the
// certificates of authorities are. They decide whether a server is trusted, and
// change nothing of the load. Everything else could: k6's own options (K6_VUS),
// proxies, Go's variables (GOMAXPROCS, GOGC, GODEBUG), the resolver's, and HOME,
// where k6 reads a configuration file.
var inherited = []string{"SSL_CERT_FILE", "SSL_CERT_DIR"}

// stallLimit is the longest that a request may wait for a byte.
const stallLimit = 30 * time.Second

// environment is the whole environment of k6: the cell, and k6's own options.
func (s Setup) environment(c plan.Cell, to files) []string {
	v := s.Settings
	do := records.Cell{
		URL: c.Target.URL, Manifest: s.Manifest, Length: c.Mode.Length, Clients: uint64(c.Concurrency),
		Requests: v.Requests, Warmup: v.Warmup, Duration: v.Duration,
		Verify: v.Verify, Fresh: v.Connections == "fresh", Seed: v.Dataset.Seed, Stall: stallLimit,
		RecordsPath: to.path(to.requests), Progress: to.logs + progressLog,
		Headers: c.Target.Header, Insecure: v.Insecure,
		Mode: c.Mode.Name, Parameters: v.ScriptParameters(), ObjectURL: c.Target.ObjectURL, JobsPath: to.path(to.jobs), Scratch: to.scratch,
		Tags: map[string]string{
			"run": s.RunID, "target": c.Target.Name, "link": c.Link.String(), "mode": c.Mode.Name,
			"concurrency": strconv.Itoa(c.Concurrency), "repetition": strconv.Itoa(c.Repetition),
			"testid": s.RunID, // by which k6's published dashboards tell runs apart
		},
	}
	if v.Requests > 0 {
		do.Stall = 0 // a client waits for its requests as long as the cell may last
	}
	env := []string{
		do.Variable(),
		"K6_PROMETHEUS_RW_SERVER_URL=" + s.WriteURL,
		"K6_PROMETHEUS_RW_PUSH_INTERVAL=" + pushInterval.String(),
		"K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM=true",
		// Else a cell's gauges would be shown for five minutes after its end.
		"K6_PROMETHEUS_RW_STALE_MARKERS=true",
		// Else k6 may replace itself by one that it has built elsewhere.
		"K6_AUTO_EXTENSION_RESOLUTION=false",
		// k6 looks here for a configuration file. Nobody can make this folder.
		// Without the variable k6 looks in HOME and in the working directory.
		"XDG_CONFIG_HOME=/proc/no-configuration",
	}
	for _, name := range inherited {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// pushInterval makes a dozen points of a cell of 10 s. k6 counts bytes and
// clients once a second.
const pushInterval = time.Second
