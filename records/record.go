// Package records defines what the retrieval extension writes and every report is made
// from: one row per request, and one per job where the workload has jobs.
package records

// Outcome says how one request ended.
type Outcome string

// The outcomes. Exactly one belongs to each request.
const (
	OK      Outcome = "ok"      // right status, right headers, exactly the right number of bytes (and the right bytes, where verified)
	Cut     Outcome = "cut"     // still running when the window closed: neither success nor failure
	Connect Outcome = "connect" // no connection, or no TLS session, also within the stall timeout
	Reset   Outcome = "reset"   // connection reset or closed before a complete response head
	Timeout Outcome = "timeout" // deadline passed
	Stalled Outcome = "stalled" // connected, and no byte for the stall timeout
	Status  Outcome = "status"  // a status other than 200 (full) or 206 (range)
	Range   Outcome = "range"   // Content-Range or length disagree with what was asked; a 200 for a Range is this
	Short   Outcome = "short"   // the body ended, cleanly or by a reset, before its last byte
	Corrupt Outcome = "corrupt" // a wrong byte
)

// Failed is how a job ended of which a request or a stage failed. Requests say how.
const Failed Outcome = "failed"

// Outcomes are all those of requests, in the order in which they are shown.
var Outcomes = []Outcome{OK, Cut, Connect, Reset, Timeout, Stalled, Status, Range, Short, Corrupt}

// Request is one request. Times are nanoseconds; a phase that did not happen is
// 0. Of a redirected request, connecting, TLSNs, TLS, TTFB, Status, HTTP and
// Reused are those of its last hop, also where that has failed.
type Request struct {
	StartUnixNs int64   `parquet:"start_unix_ns"` // request start, wall clock (includes waiting for a connection)
	ConnectNs   int64   `parquet:"connect_ns"`    // DNS and TCP connect
	TLSNs       int64   `parquet:"tls_ns"`        // TLS handshake
	TTFBNs      int64   `parquet:"ttfb_ns"`       // request about to be written to first response byte; 0 if none came
	DurationNs  int64   `parquet:"duration_ns"`   // start to last byte, or to the failure or cut
	Bytes       int64   `parquet:"bytes"`         // body bytes received
	WindowBytes int64   `parquet:"window_bytes"`  // of these, received inside the measured window
	Piece       string  `parquet:"piece,dict"`    // piece CID v1
	Offset      int64   `parquet:"offset"`        // first byte asked for
	Length      int64   `parquet:"length"`        // bytes asked for
	Status      int32   `parquet:"status"`        // HTTP status, 0 if none
	Outcome     Outcome `parquet:"outcome,dict"`
	Error       string  `parquet:"error,dict"`  // what went wrong, in one line; empty for ok and cut
	Verified    bool    `parquet:"verified"`    // VerifiedBytes is not 0
	Reused      bool    `parquet:"reused"`      // sent on a connection that served an earlier request
	Redirects   int32   `parquet:"redirects"`   // redirects followed
	Client      int32   `parquet:"client"`      // client (k6 VU) number, from 1
	HTTP        string  `parquet:"http,dict"`   // protocol of the response: HTTP/1.0, HTTP/1.1
	RedirectNs  int64   `parquet:"redirect_ns"` // start to the last hop's; 0 if not redirected
	// VerifiedBytes is how many body bytes were compared with the piece's, and
	// right. Of a request that is ok it is 0, or all of them.
	VerifiedBytes int64  `parquet:"verified_bytes"`
	Job           int64  `parquet:"job"`         // number of the job that the request belongs to; 0: none
	Object        string `parquet:"object,dict"` // name of the object, where no piece was asked for
	TLS           string `parquet:"tls,dict"`    // version of TLS, such as TLS 1.3; empty without, and without a connection
}

// Keys of the Parquet file's key-value metadata: the measured window, as
// decimal Unix nanoseconds.
const (
	MetaWindowStart = "piecebench.window_start_unix_ns"
	MetaWindowEnd   = "piecebench.window_end_unix_ns"
)

// Progress is one line of the progress file, a JSON object a line, that the
// extension writes once a second, and once at start and end.
type Progress struct {
	UnixNs      int64 `json:"unix_ns"`
	Start       int64 `json:"start_unix_ns"`        // of the scenario, and so of the warm-up; the same on every line
	WindowStart int64 `json:"window_start_unix_ns"` // the same on every line
	WindowEnd   int64 `json:"window_end_unix_ns"`   // on the last two lines as it was, before these as planned
	Bytes       int64 `json:"bytes"`                // body bytes received since the start, all requests
	Clients     int64 `json:"clients"`              // that have made a request, or begun a job
	Active      int64 `json:"active"`               // requests running now
	OK          int64 `json:"ok"`                   // finished requests since the start
	Failed      int64 `json:"failed"`
	Cut         int64 `json:"cut"`
	Done        bool  `json:"done,omitempty"` // the last line, after the records: they are complete
}
