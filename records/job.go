package records

// Job is one job: a client's unit of work, which has requests and local stages. Times
// are nanoseconds of the monotonic clock; StartUnixNs alone is of the wall clock.
type Job struct {
	Number      int64   `parquet:"job"`           // from 1, one of its own in the cell; Request.Job says it too
	Client      int32   `parquet:"client"`        // client (k6 VU) number, from 1
	StartUnixNs int64   `parquet:"start_unix_ns"` // the job's start
	DurationNs  int64   `parquet:"duration_ns"`   // start to end, or to the failure or cut
	WindowNs    int64   `parquet:"window_ns"`     // of DurationNs, inside the measured window
	Outcome     Outcome `parquet:"outcome,dict"`  // OK, Cut or Failed
	Error       string  `parquet:"error,dict"`    // of the first request or stage that failed, in one line
	Requests    int64   `parquet:"requests"`      // that were started
	Bytes       int64   `parquet:"bytes"`         // body bytes received
	// Stages are in the order in which they first began. A download is one too: the
	// time in which at least one of the job's requests was running.
	Stages []Stage `parquet:"stages,list"`
	// OverlapWindowNs is the time inside the window in which several stages ran, counted
	// once for each stage beyond the first. The stages' WindowNs, less this, and the
	// time outside of all stages add up to the job's WindowNs.
	OverlapWindowNs int64 `parquet:"overlap_window_ns"`
}

// Stage is a part of a job's time.
type Stage struct {
	Name     string `parquet:"name,dict"`
	Ns       int64  `parquet:"ns"`        // in which it ran, however often at once
	WindowNs int64  `parquet:"window_ns"` // of Ns, inside the measured window
}

// Download is the name of the stage in which requests run.
const Download = "download"
