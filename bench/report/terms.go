package report

// term is a word and its meaning.
type term struct{ Name, Meaning string }

// terms are the words of a report, in the sense of docs/METHODOLOGY.md.
var terms = []term{
	{"goodput", "payload bytes delivered inside the measured window / window."},
	{"ceiling", "the most goodput that the link was measured to carry on this machine, before its cells ran."},
	{"TTFB", "from the request written to the first byte of the response."},
	{"duration", "from the start of the request to its last byte."},
	{"p50, p95", "the time within which that per cent of requests got there. Requests that were cut or failed count as longer than they were seen " +
		"(Kaplan-Meier); where they make a quantile unknowable, it is a lower bound: > 12.0 s."},
	{"success", "ok / (ok + failed). ok is the right status, the right range and exactly the right bytes."},
	{"cut", "still running when the window closed: neither ok nor failed."},
}
