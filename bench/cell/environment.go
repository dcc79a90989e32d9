package cell

import (
	"os"
	"strconv"
	"time"

	"piecebench/bench/plan"
)

// inherited are the variables of this process that k6 gets too: where
// certificates of authorities are, which decides whether a server is trusted and
// nothing of the load. Everything else would be a second way to say what runs:
// k6's own options (K6_VUS), proxies, Go's (GOMAXPROCS, GOGC, GODEBUG), the
// resolver's, and HOME with the configuration file that k6 reads there.
var inherited = []string{"SSL_CERT_FILE", "SSL_CERT_DIR"}

// environment is the whole environment of k6: what k6/scripts/retrieval.js reads,
// and k6's own options.
func (s Setup) environment(c plan.Cell, records, progress string) []string {
	v := s.Settings
	stall := "" // the script's own
	if v.Requests > 0 {
		stall = "0s" // a client waits for its requests as long as the cell may last
	}
	env := []string{
		"URL=" + c.Target.URL,
		"MANIFEST=" + s.Manifest,
		"MODE=" + c.Mode.Name,
		"CONCURRENCY=" + strconv.Itoa(c.Concurrency),
		"DURATION=" + v.Duration.String(),
		"WARMUP=" + v.Warmup.String(),
		"REQUESTS=" + strconv.Itoa(v.Requests),
		"STALL=" + stall,
		"VERIFY=" + strconv.FormatFloat(v.Verify, 'g', -1, 64),
		"CONNECTIONS=" + v.Connections,
		"SEED=" + strconv.FormatUint(v.Dataset.Seed, 10),
		"RECORDS=" + records,
		"PROGRESS=" + progress,
		"RUN=" + s.RunID,
		"TARGET=" + c.Target.Name,
		"LINK=" + c.Link.String(),
		"REPETITION=" + strconv.Itoa(c.Repetition),
		"K6_PROMETHEUS_RW_SERVER_URL=" + s.WriteURL,
		"K6_PROMETHEUS_RW_PUSH_INTERVAL=" + pushInterval.String(),
		"K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM=true",
		// Else a cell's gauges would be seen for five minutes after its end.
		"K6_PROMETHEUS_RW_STALE_MARKERS=true",
		// Else k6 may replace itself by one that it has built elsewhere.
		"K6_AUTO_EXTENSION_RESOLUTION=false",
		// Where k6 looks for a configuration file: a folder that nobody can make.
		// Without the variable it looks in HOME and in the working directory.
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
