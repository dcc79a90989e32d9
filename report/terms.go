package report

import "slices"

// terms are the words of every report, as docs/METHODOLOGY.md defines them.
var terms = []Term{
	{"row", "a link, a mode and a number of clients: a table compares the targets in it. A cell is one target in one row, one repetition."},
	{"goodput", "payload bytes that arrived within the measured window / window, of requests that succeeded or were cut without a fault. Bytes of failed requests do not count."},
	{"ceiling", "the most goodput that the link was measured to carry on this machine, before its cells ran."},
	{"ratio", "goodput of two targets in the same repetition, as the geometric mean of all repetitions; in brackets its " + Intervals + ". " + MachineMark + ": the host, the generator or the emulated link limited one of the two, so the ratio does not show how they differ."},
	{"TTFB", "from the request written to the first byte of the response."},
	{"duration", "from the start of the request to its last byte."},
	{"p50, p95, p99", "50, 95 and 99 % of the requests took at most this long. Requests that were cut or failed are right-censored at their age " +
		"(Kaplan-Meier). Where they make a quantile unknowable, it is a lower bound: > 12.0 s."},
	{"success", "ok / (ok + failed). ok is the right status, the right range and exactly the right bytes."},
	{"cut", "still running when the window closed: neither ok nor failed."},
	{"limited by", "the bottleneck: the link, the server’s CPU, the server (slow with CPU to spare), the generator, the host that all share, the emulator of the link, " +
		"or latency (too few clients for the path). – is not known. The rules are in docs/METHODOLOGY.md."},
}

// fairnessTerm is for runs that have it.
var fairnessTerm = Term{"fairness", "how evenly the clients shared the goodput (Jain’s index): 1 if all got the same, 1/n if one of n got everything."}

// jobTerms are for runs whose clients run jobs, in place of what is said of ratios.
var jobTerms = []Term{
	{"job", "a client’s unit of work: its requests, and the local work around them."},
	{"job time", "from the start of a job to its end. p50, p90 and p99 are estimated as those of requests; the longest is p100."},
	{"ratio", "job time p50 of two targets in the same repetition, as the geometric mean of all repetitions; less is better. In brackets its " + Intervals + ". " + MachineMark +
		": this machine limited one of the two, or the emulated delay was late, so the ratio does not show how they differ."},
	{"shares of the time", "of all jobs’ time inside the window, by stage. Download is the time in which a request was running; other is outside all stages. " +
		"Overlap is the time in which several ran, once for each beyond the first: the shares with other, less overlap, are 100 %."},
	{"client work", "a bottleneck: for more than half of the time of their jobs the clients had no request running, as the workload asks."},
}

// costTerm is for reports with prices.
var costTerm = Term{"cost per TB", "for 10^12 bytes of goodput, in the currency of the prices: the price of a GB of egress x 1000 x egress / goodput, and the price of a server’s hour x the hours " +
	"that one takes at this goodput. Egress is the bytes on the wire where they are known, else the payload."}

// wireTerm is for reports with wire bytes.
var wireTerm = Term{"on the wire", "the bytes that the servers sent to the link, with Ethernet, IP and TCP headers and retransmissions. The overhead is the share by which they exceed the payload that was delivered."}

// PhasesTerm is for reports that show phases.
var PhasesTerm = Term{"connect, TLS, waiting, receiving", "the mean time of an ok request, by phase. Waiting is TTFB; receiving is the rest of its duration. Of a redirected request these are the last hop’s, and redirects is all before. " +
	"Cut requests, which are the longest, do not count."}

// Terms are the words of this report.
func (v *View) Terms() []Term {
	all := slices.Clone(terms)
	if v.Run.HasJobs() {
		all = append(slices.DeleteFunc(all, func(t Term) bool { return t.Name == "ratio" }), jobTerms...)
	}
	if slices.ContainsFunc(All(v.Rows), func(f *Figures) bool { return f.fairness() != "" }) {
		all = append(all, fairnessTerm)
	}
	if v.wired() > 0 {
		all = append(all, wireTerm)
	}
	if v.Costs() != nil {
		all = append(all, costTerm)
	}
	return all
}
