package settings

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"piecebench/bench/cost"
	"piecebench/internal/plain"
	"piecebench/netem/link"
	"piecebench/piece/bytesize"
	"piecebench/piece/dataset"
)

// variables is the table of every variable, in the order that help shows them.
var variables = []variable{
	{"CONCURRENCY", "1000", "clients: one number sweeps 1, 10, 100, ... up to and including it; a list is exactly that; /full:1,8 adds a mode's own", parseConcurrency},
	{"LINKS", "1gbit/40ms,10gbit/40ms", "links: rate/delay[/loss], or none", parseLinks},
	{"MODES", "full,1MiB,10MiB,100MiB", "requests: full (the whole piece) or a range size", parseModes},
	{targetsVariable, "raw,gateway", "the lab's targets, and/or name=http://host/piece/{piece}", parseTargets},
	{"DURATION", "10s", "the measured window of a cell; where REQUESTS is a number, the most it may last", func(s *Settings, v string) (err error) {
		s.Duration, err = parseDuration(v, time.Second, 24*time.Hour)
		return err
	}},
	{"WARMUP", "2s", "what runs before the window", func(s *Settings, v string) (err error) {
		s.Warmup, err = parseDuration(v, 0, time.Hour)
		return err
	}},
	{"REQUESTS", "window", "requests of a client: window (as many as fit into it), or a number: the window ends with the last", parseRequests},
	{"REPEAT", "1", "repetitions, target order alternating A B B A", func(s *Settings, v string) (err error) {
		s.Repeat, err = parseCount(v, 1000)
		return err
	}},
	{"VERIFY", "0.05", "share of requests whose bytes are checked, 0 to 1", parseVerify},
	{"CONNECTIONS", "reuse", "reuse or fresh connection per request", func(s *Settings, v string) error {
		return oneOf(&s.Connections, v, "reuse", "fresh")
	}},
	{"CACHE", "warm", "warm or cold page cache before each cell", func(s *Settings, v string) error {
		return oneOf(&s.Cache, v, "warm", "cold")
	}},
	{profileVariable, "", "a named set of the above: " + strings.Join(profileNames(), ", "), func(*Settings, string) error { return nil }},
	{"RUNTIME", "auto", "compose (containers), native (network namespaces), or auto: whichever this machine can run", func(s *Settings, v string) error {
		return oneOf(&s.Runtime, v, "auto", "compose", "native")
	}},
	{"PIECES", strconv.Itoa(dataset.Default.Pieces), "pieces in the dataset", func(s *Settings, v string) (err error) {
		s.Dataset.Pieces, err = parseCount(v, dataset.MaxPieces)
		return err
	}},
	{"PIECE_SIZE", bytesize.String(dataset.Default.PieceSize), "padded size of each piece, a power of two", func(s *Settings, v string) (err error) {
		s.Dataset.PieceSize, err = dataset.ParsePieceSize(v)
		return err
	}},
	{"SEED", strconv.FormatUint(dataset.Default.Seed, 10), "keys the dataset and every random choice", func(s *Settings, v string) (err error) {
		if s.Dataset.Seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			return fmt.Errorf("want a whole number from 0 to 2^64-1")
		}
		return nil
	}},
	{"PRICE_EGRESS", "0", "price of a GB (10^9 bytes) of egress, in any currency: reports then have the cost per TB; 0 counts none", func(s *Settings, v string) (err error) {
		s.Prices.Egress, err = cost.Parse(v)
		return err
	}},
	{"PRICE_SERVER_HOUR", "0", "price of a server for an hour, in the same currency", func(s *Settings, v string) (err error) {
		s.Prices.ServerHour, err = cost.Parse(v)
		return err
	}},
}

// MaxConcurrency is a bound on the clients of one cell: each takes a
// connection, and a client address has 64511 ports.
const MaxConcurrency = 50000

// LabClients is how many clients at a time the lab's own servers are set up for:
// nginx.conf by its connections, the gateway by its limit of requests.
const LabClients = 20000

// Concurrency is the sweep's numbers of clients, one a step.
type Concurrency struct {
	Default []int
	Own     map[string][]int // of the modes, by name, that have their own
}

// Of returns the steps of a mode.
func (c Concurrency) Of(mode Mode) []int {
	if own, ok := c.Own[mode.Name]; ok {
		return own
	}
	return c.Default
}

// parseConcurrency reads 10,100,1000/full:1,8,16. A slash, because a shell
// would end the command at a semicolon, and run the rest of the sweep.
func parseConcurrency(s *Settings, text string) error {
	s.Concurrency = Concurrency{}
	for _, part := range strings.Split(text, "/") {
		name, list, own := strings.Cut(part, ":")
		if !own {
			list = part
		}
		steps, err := parseSteps(list)
		switch {
		case err != nil:
			return err
		case !own && s.Concurrency.Default != nil:
			return fmt.Errorf("two lists for all modes: name the mode of one, as in 10,100/full:1,8")
		case !own:
			s.Concurrency.Default = steps
			continue
		}
		mode, err := parseMode(name)
		if err != nil {
			return err
		}
		if s.Concurrency.Own[mode.Name] != nil {
			return fmt.Errorf("%s is listed twice", mode.Name)
		}
		if s.Concurrency.Own == nil {
			s.Concurrency.Own = map[string][]int{}
		}
		s.Concurrency.Own[mode.Name] = steps
	}
	if s.Concurrency.Default == nil {
		return fmt.Errorf("no list for the other modes: put one in front, as in 10,100/full:1,8")
	}
	return nil
}

// parseSteps reads one list of clients.
func parseSteps(text string) ([]int, error) {
	var steps []int
	for _, field := range strings.Split(strings.TrimSuffix(text, ","), ",") {
		n, err := parseCount(strings.TrimSpace(field), MaxConcurrency)
		if err != nil {
			return nil, err
		}
		if slices.Contains(steps, n) {
			return nil, fmt.Errorf("%d is listed twice", n)
		}
		steps = append(steps, n)
	}
	if !strings.Contains(text, ",") {
		return decadesTo(steps[0]), nil
	}
	return steps, nil
}

// decadesTo returns 1, 10, 100, ... below n, and n.
func decadesTo(n int) []int {
	var steps []int
	for step := 1; step < n; step *= 10 {
		steps = append(steps, step)
	}
	return append(steps, n)
}

func parseLinks(s *Settings, text string) error {
	s.Links = nil
	for _, field := range strings.Split(text, ",") {
		spec, err := link.Parse(strings.TrimSpace(field))
		if err != nil {
			return err
		}
		if slices.Contains(s.Links, spec) {
			return fmt.Errorf("%s is listed twice", spec)
		}
		s.Links = append(s.Links, spec)
	}
	return nil
}

// FullMode is the name of the mode in which a request asks for a whole piece.
const FullMode = "full"

// Mode is what one request asks for.
type Mode struct {
	Name   string // FullMode, or the range's size such as 1MiB
	Length int64  // bytes of a range; 0 for the full piece
}

// RequestBytes returns how many bytes a request asks for, of a piece of so many bytes.
func (m Mode) RequestBytes(piece int64) int64 { return cmp.Or(m.Length, piece) }

func parseModes(s *Settings, text string) error {
	s.Modes = nil
	for _, field := range strings.Split(text, ",") {
		m, err := parseMode(field)
		if err != nil {
			return err
		}
		if slices.Contains(s.Modes, m) {
			return fmt.Errorf("%s is listed twice", m.Name)
		}
		s.Modes = append(s.Modes, m)
	}
	return nil
}

func parseMode(text string) (Mode, error) {
	if text = strings.TrimSpace(text); text == FullMode {
		return Mode{Name: FullMode}, nil
	}
	n, err := bytesize.Parse(text)
	if err != nil {
		return Mode{}, fmt.Errorf("want full or a range size: %w", err)
	}
	return Mode{Name: bytesize.String(n), Length: n}, nil
}

const targetsVariable = "TARGETS"

// Target is one server that is measured.
type Target struct {
	Name string
	// URL has {piece} in place of the piece CID; it is empty for a target of the
	// lab. It may hold secrets: what is shown or kept of it is plain.URL.
	URL string
}

// targetsText is the value of TARGETS without its secrets.
func targetsText(targets []Target) string {
	var fields []string
	for _, t := range targets {
		field := t.Name
		if t.URL != "" {
			field += "=" + plain.URL(t.URL)
		}
		fields = append(fields, field)
	}
	return strings.Join(fields, ",")
}

// PiecePlaceholder stands for the piece CID in a target's URL.
const PiecePlaceholder = "{piece}"

// targetName keeps names fit for file names, labels and table columns.
var targetName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)

func parseTargets(s *Settings, text string) error {
	s.Targets = nil
	for _, field := range strings.Split(text, ",") {
		name, address, own := strings.Cut(strings.TrimSpace(field), "=")
		if !targetName.MatchString(name) {
			return fmt.Errorf("target name %q: want letters, digits, '.', '_' or '-', 40 at most", plain.URL(name))
		}
		if own {
			u, err := url.Parse(address)
			if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || !strings.Contains(address, PiecePlaceholder) {
				return fmt.Errorf("target %s: want %s=http://host/piece/%s", name, name, PiecePlaceholder)
			}
			if strings.Contains(address, plain.Hidden) {
				return fmt.Errorf("target %s: %s stands for what is not recorded: give the user and password, or the query, anew", name, plain.Hidden)
			}
		} else if !slices.Contains(LabTargets, name) {
			return fmt.Errorf("target %s: the lab has %s; another server is name=http://host/piece/%s", name, strings.Join(LabTargets, " and "), PiecePlaceholder)
		}
		if slices.ContainsFunc(s.Targets, func(t Target) bool { return t.Name == name }) {
			return fmt.Errorf("target %s is listed twice", name)
		}
		s.Targets = append(s.Targets, Target{Name: name, URL: address})
	}
	return nil
}

// LabTargets are the targets that the lab brings up: nginx over flat files,
// and the piece gateway over unsealed sectors.
var LabTargets = []string{"raw", "gateway"}

func parseVerify(s *Settings, text string) error {
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return fmt.Errorf("want a share from 0 to 1")
	}
	s.Verify = share
	return nil
}

// maxRequests bounds what one cell may record of a client.
const maxRequests = 1e6

// untilWindowEnds is the value of REQUESTS with which clients go on until the
// window ends.
const untilWindowEnds = "window"

func parseRequests(s *Settings, text string) (err error) {
	if text == untilWindowEnds {
		s.Requests = 0
		return nil
	}
	if s.Requests, err = parseCount(text, maxRequests); err != nil {
		return fmt.Errorf("want %s, or a whole number from 1 to %.0f", untilWindowEnds, maxRequests)
	}
	return nil
}

func parseDuration(text string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		return 0, fmt.Errorf("want a duration from %s to %s, such as 10s", least, most)
	}
	return d, nil
}

func parseCount(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("want a whole number from 1 to %d", most)
	}
	return n, nil
}

func oneOf(dst *string, value string, allowed ...string) error {
	if !slices.Contains(allowed, value) {
		return fmt.Errorf("want one of: %s", strings.Join(allowed, ", "))
	}
	*dst = value
	return nil
}
