package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"piecebench/bench/cost"
	"piecebench/bench/workload"
	"piecebench/internal/parse"
	"piecebench/netem/link"
	"piecebench/piece/bytesize"
	"piecebench/piece/dataset"
	"piecebench/servers"
)

// variables is the table of every variable, in the order that help shows them.
var variables = slices.Concat(workloadVariables(), []variable{
	{"CONCURRENCY", "1000", "clients: one number sweeps 1, 10, 100, ... up to and including it; a list is exactly that; /full:1,8 adds a mode's own",
		func(s *Settings, text string) (err error) {
			s.Concurrency, err = parseConcurrency(text, s.parseMode)
			return err
		}},
	{"LINKS", "1gbit/40ms,10gbit/40ms", "links: rate/delay[/loss], or none", value(func(s *Settings) *[]link.Spec { return &s.Links }, listOf(link.Parse))},
	{modesVariable, workload.Of(workload.Retrieval).Presets[modesVariable], "requests: full (the whole piece) or a range size; other workloads have modes of their own",
		func(s *Settings, text string) (err error) {
			s.Modes, err = listOf(s.parseMode)(text)
			return err
		}},
	{TargetsVariable, "raw,gateway", "servers of the lab (" + strings.Join(servers.Targets(), ", ") + "), and/or name=http://host/piece/{piece}, or {piece_v2} for CIDs v2; of a workload with objects, name=http://host/object/{object}",
		value(func(s *Settings) *[]Target { return &s.Targets }, parseTargets)},
	{headersVariable, "", "files of headers for targets of your own, one Name: value a line: @file for all, or name=@file", parseHeaders},
	{"INSECURE", "", "yes accepts any certificate", value(func(s *Settings) *bool { return &s.Insecure }, parseInsecure)},
	{"DURATION", "10s", "the measured window of a cell; where REQUESTS is a number, the longest that it may last",
		value(func(s *Settings) *time.Duration { return &s.Duration }, durationFrom(time.Second, 24*time.Hour))},
	{"WARMUP", "2s", "what runs before the window", value(func(s *Settings) *time.Duration { return &s.Warmup }, durationFrom(0, time.Hour))},
	{"REQUESTS", untilWindowEnds, "requests of a client: window (as many as fit into it), or a number: the window ends with the last",
		value(func(s *Settings) *int { return &s.Requests }, parseRequests)},
	{"REPEAT", "1", "repetitions, target order alternating A B B A", value(func(s *Settings) *int { return &s.Repeat }, parse.Count(1000))},
	{"VERIFY", "0.05", "share of requests whose bytes are checked, 0 to 1", value(func(s *Settings) *float64 { return &s.Verify }, parseShare)},
	{"CONNECTIONS", "reuse", "reuse or fresh connection per request", value(func(s *Settings) *string { return &s.Connections }, parse.OneOf("reuse", "fresh"))},
	{"CACHE", "warm", "warm or cold page cache before each cell", value(func(s *Settings) *string { return &s.Cache }, parse.OneOf("warm", "cold"))},
	{profileVariable, "", "a named set of the above: " + strings.Join(profileNames(), ", "), func(*Settings, string) error { return nil }},
	{"RUNTIME", "auto", "compose (containers), native (network namespaces), or auto: what this machine can run",
		value(func(s *Settings) *string { return &s.Runtime }, parse.OneOf("auto", "compose", "native"))},
	{"PIECES", strconv.Itoa(dataset.Default.Pieces), "pieces in the dataset", value(func(s *Settings) *int { return &s.Dataset.Pieces }, parse.Count(dataset.MaxPieces))},
	{"PIECE_SIZE", bytesize.String(dataset.Default.PieceSize), "padded size of each piece, a power of two",
		value(func(s *Settings) *int64 { return &s.Dataset.PieceSize }, dataset.ParsePieceSize)},
	{"SEED", strconv.FormatUint(dataset.Default.Seed, 10), "keys the dataset and every random choice", value(func(s *Settings) *uint64 { return &s.Dataset.Seed }, parseSeed)},
	{"PRICE_EGRESS", "0", "price of a GB (10^9 bytes) of egress, in any currency: reports then have the cost per TB; 0 counts none",
		value(func(s *Settings) *float64 { return &s.Prices.Egress }, cost.Parse)},
	{"PRICE_SERVER_HOUR", "0", "price of a server for an hour, in the same currency", value(func(s *Settings) *float64 { return &s.Prices.ServerHour }, cost.Parse)},
})

// value returns what parses a variable into its field.
func value[T any](field func(*Settings) *T, parse func(string) (T, error)) func(*Settings, string) error {
	return func(s *Settings, text string) (err error) {
		*field(s), err = parse(text)
		return err
	}
}

// listOf parses a list that is separated by commas and has nothing twice.
func listOf[T comparable](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(text string) (list []T, err error) {
		for field := range strings.SplitSeq(text, ",") {
			field = strings.TrimSpace(field)
			v, err := parse(field)
			if err != nil {
				return nil, err
			}
			if slices.Contains(list, v) {
				return nil, fmt.Errorf("%s is listed twice", field)
			}
			list = append(list, v)
		}
		return list, nil
	}
}

// MaxConcurrency is a bound on the clients of one cell: each takes a
// connection, and a client address has 64511 ports.
const MaxConcurrency = 50000

// Concurrency is the sweep's numbers of clients, one a step.
type Concurrency struct {
	Default []int
	Own     map[string][]int // of the modes, by name, that have their own
}

// Of returns the steps of a mode.
func (c Concurrency) Of(mode workload.Mode) []int {
	if own, ok := c.Own[mode.Name]; ok {
		return own
	}
	return c.Default
}

// parseConcurrency reads 10,100,1000/full:1,8,16. A slash, because a shell
// would end the command at a semicolon, and run the rest of the sweep.
func parseConcurrency(text string, parseMode func(string) (workload.Mode, error)) (c Concurrency, err error) {
	for part := range strings.SplitSeq(text, "/") {
		name, list, own := strings.Cut(part, ":")
		if !own {
			list = part
		}
		steps, err := parseSteps(list)
		switch {
		case err != nil:
			return c, err
		case !own && c.Default != nil:
			return c, fmt.Errorf("two lists for all modes: name the mode of one, as in 10,100/full:1,8")
		case !own:
			c.Default = steps
			continue
		}
		mode, err := parseMode(name)
		if err != nil {
			return c, err
		}
		if c.Own[mode.Name] != nil {
			return c, fmt.Errorf("%s is listed twice", mode.Name)
		}
		if c.Own == nil {
			c.Own = map[string][]int{}
		}
		c.Own[mode.Name] = steps
	}
	if c.Default == nil {
		return c, fmt.Errorf("no list for the other modes: put one in front, as in 10,100/full:1,8")
	}
	return c, nil
}

// parseSteps reads one list of clients.
func parseSteps(text string) ([]int, error) {
	steps, err := listOf(parse.Count(MaxConcurrency))(strings.TrimSuffix(text, ","))
	if err == nil && !strings.Contains(text, ",") {
		return decadesTo(steps[0]), nil
	}
	return steps, err
}

// decadesTo returns 1, 10, 100, ... below n, and n.
func decadesTo(n int) []int {
	var steps []int
	for step := 1; step < n; step *= 10 {
		steps = append(steps, step)
	}
	return append(steps, n)
}

func parseShare(text string) (float64, error) {
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("want a share from 0 to 1")
	}
	return share, nil
}

func parseSeed(text string) (uint64, error) {
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("want a whole number from 0 to 2^64-1")
	}
	return seed, nil
}

// maxRequests bounds what one cell may record of a client.
const maxRequests = 1e6

// untilWindowEnds is the value of REQUESTS with which clients go on until the
// window ends.
const untilWindowEnds = "window"

func parseRequests(text string) (int, error) {
	if text == untilWindowEnds {
		return 0, nil
	}
	n, err := parse.Count(maxRequests)(text)
	if err != nil {
		return 0, fmt.Errorf("want %s, or a whole number from 1 to %.0f", untilWindowEnds, maxRequests)
	}
	return n, nil
}

func durationFrom(least, most time.Duration) func(string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil || d < least || d > most {
			return 0, fmt.Errorf("want a duration from %s to %s, such as 10s", least, most)
		}
		return d, nil
	}
}
