// Package settings is the one place of every variable of a run: its name, its
// default, what it means and which values it takes. Each variable is a make
// variable, an environment variable and a flag.
package settings

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"piecebench/bench/cost"
	"piecebench/bench/workload"
	"piecebench/internal/plain"
	"piecebench/netem/link"
	"piecebench/piece"
	"piecebench/piece/dataset"
	"piecebench/servers"
)

// Settings are the checked values of all variables.
type Settings struct {
	Workload    string            // what the clients do: an ID of package workload
	Parameters  map[string]string // of the workload's script; nil where it has none
	Concurrency Concurrency       // clients, by mode
	Links       []link.Spec       // links, in the order they are swept
	Modes       []workload.Mode   // what a unit of work asks for
	Targets     []Target          // what is measured
	Insecure    bool              // certificates are not checked
	Duration    time.Duration     // the measured window of a cell, or the most it may last
	Warmup      time.Duration     // what runs before the window
	Requests    int               // that each client makes; 0: as many as fit into the window
	Repeat      int               // repetitions of each cell
	Verify      float64           // share of requests whose bytes are checked, 0 to 1
	Connections string            // reuse or fresh
	Cache       string            // warm or cold
	Runtime     string            // auto, native or compose
	// Dataset is the generated one. Its seed keys every random choice as well.
	Dataset dataset.Params
	Prices  cost.Prices // only reports use them

	// Text holds each variable's value as given, by name, without the secrets of
	// targets: it is shown, and kept with the run.
	Text map[string]string
}

// variable is one entry of the table.
type variable struct {
	name    string
	preset  string // default value
	meaning string
	parse   func(*Settings, string) error
}

// set checks text and puts it into s.
func (v variable) set(s *Settings, text string) error {
	if err := v.parse(s, text); err != nil {
		if v.name == headersVariable || v.name == TargetsVariable && strings.ContainsAny(text, "@?") {
			text = plain.Hidden
		}
		return fmt.Errorf("%s=%s: %w", v.name, text, err)
	}
	return nil
}

// Description is what a person reads of a variable.
type Description struct{ Name, Default, Meaning string }

// Describe returns the table of variables.
func Describe() []Description {
	var table []Description
	for _, v := range variables {
		table = append(table, Description{v.name, v.preset, v.meaning})
	}
	return table
}

// flag returns the name of the command line flag: piece-size for PIECE_SIZE.
func (v variable) flag() string {
	return strings.ReplaceAll(strings.ToLower(v.name), "_", "-")
}

// A profile's values replace the defaults. What the user gives replaces both.
const profileVariable = "PROFILE"

// DatasetVariables are those that say which pieces there are.
var DatasetVariables = []string{"PIECES", "PIECE_SIZE", "SEED"}

// PriceVariables are those that only reports use: they change nothing that is
// measured, and can be given or changed afterwards.
var PriceVariables = []string{"PRICE_EGRESS", "PRICE_SERVER_HOUR"}

// AddFlags defines a flag for every variable, or for those named. The flags'
// values are read by Load.
func AddFlags(flags *pflag.FlagSet, names ...string) {
	for _, v := range variables {
		if len(names) > 0 && !slices.Contains(names, v.name) {
			continue
		}
		flags.String(v.flag(), "", fmt.Sprintf("%s (default %s; also $%s)", v.meaning, cmp.Or(v.preset, "none"), v.name))
	}
}

// Load reads every variable: from its flag if that was given, else from the
// environment, else from the profile, else its default. An empty value counts
// as not given. flags may be nil.
func Load(flags *pflag.FlagSet) (Settings, error) { return FromText(givenBy(flags)) }

// LoadDataset reads the DatasetVariables alone.
func LoadDataset(flags *pflag.FlagSet) (dataset.Params, error) {
	s, err := only(DatasetVariables, givenBy(flags))
	return s.Dataset, err
}

// LoadTargets reads TARGETS alone; of the result only Targets is set.
func LoadTargets(flags *pflag.FlagSet) (Settings, error) {
	return only([]string{TargetsVariable}, givenBy(flags))
}

// Prices reads the PriceVariables of a run's settings; those that a run of an
// older piecebench lacks have their defaults.
func Prices(text map[string]string) (cost.Prices, error) {
	s, err := only(PriceVariables, text)
	return s.Prices, err
}

// WithPrices returns a run's settings with the PriceVariables that are given
// now, by flag or environment, in place of its own. The prices are checked.
func WithPrices(text map[string]string, flags *pflag.FlagSet) (map[string]string, error) {
	given, with := givenBy(flags), map[string]string{}
	maps.Copy(with, text)
	for _, name := range PriceVariables {
		if given[name] != "" {
			with[name] = strings.TrimSpace(given[name])
		}
	}
	_, err := Prices(with)
	return with, err
}

// only reads the named variables alone.
func only(names []string, given map[string]string) (Settings, error) {
	var s Settings
	for _, v := range variables {
		if !slices.Contains(names, v.name) {
			continue
		}
		if err := v.set(&s, cmp.Or(strings.TrimSpace(given[v.name]), v.preset)); err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

func givenBy(flags *pflag.FlagSet) map[string]string {
	given := map[string]string{}
	for _, v := range variables {
		given[v.name] = os.Getenv(v.name)
		if flags == nil {
			continue
		}
		if f := flags.Lookup(v.flag()); f != nil && f.Value.String() != "" {
			given[v.name] = f.Value.String()
		}
	}
	return given
}

// FromText checks the values given by name and fills in the profile and the defaults.
func FromText(given map[string]string) (Settings, error) {
	s := Settings{Text: map[string]string{}}
	profile, err := profileNamed(given[profileVariable])
	if err != nil {
		return Settings{}, err
	}
	for _, v := range variables {
		text := strings.TrimSpace(given[v.name])
		if !v.isOf(s.Workload) {
			if text != "" {
				return Settings{}, fmt.Errorf("%s=%s: no variable of %s=%s", v.name, text, workloadVariable, workload.Of(s.Workload).Name)
			}
			continue
		}
		text = cmp.Or(text, v.presetOf(s.Workload, profile))
		if err := v.set(&s, text); err != nil {
			return Settings{}, err
		}
		s.Text[v.name] = text
	}
	s.Text[workloadVariable] = workload.Of(s.Workload).Name // the path of a script may name a user
	s.Text[TargetsVariable], s.Text[headersVariable] = targetsText(s.Targets), headersText(s.Targets)
	return s, s.checkTogether()
}

// checkTogether refuses values that are each legal but not with one another.
func (s Settings) checkTogether() error {
	for _, m := range s.Modes {
		if unpadded := piece.Unpadded(s.Dataset.PieceSize); m.Length > unpadded && s.usesGeneratedDataset() {
			return fmt.Errorf("MODES=%s: the range is larger than a piece, which holds %d bytes at PIECE_SIZE=%s; choose a smaller range or a larger PIECE_SIZE",
				m.Name, unpadded, s.Text["PIECE_SIZE"])
		}
	}
	for _, r := range s.LabServers() {
		if most := s.Clients(); most > r.Clients {
			return fmt.Errorf("CONCURRENCY=%s: the lab's server %s is set up for %d clients, not %d: take fewer, or only targets of your own", s.Text["CONCURRENCY"], r.Target, r.Clients, most)
		}
	}
	if err := CheckURLs(s.Workload, s.Targets); err != nil {
		return err
	}
	if s.Requests > 0 && s.Warmup > 0 {
		return fmt.Errorf("REQUESTS=%d: all of a client's requests count, so that none is left for a warm-up: give WARMUP=0s too", s.Requests)
	}
	return nil
}

// Clients returns the most clients that a cell of the sweep has.
func (s Settings) Clients() (most int) {
	for _, m := range s.Modes {
		most = max(most, slices.Max(s.Concurrency.Of(m)))
	}
	return most
}

// usesGeneratedDataset is false where every target is somebody's own server:
// its pieces are then the manifest's, not PIECE_SIZE's.
func (s Settings) usesGeneratedDataset() bool { return len(s.LabServers()) > 0 }

// LabServers returns the recipes of the targets that are servers of the lab.
func (s Settings) LabServers() (recipes []servers.Recipe) {
	for _, t := range s.Targets {
		if r, ok := servers.Of(t.Name); ok && t.InLab() {
			recipes = append(recipes, r)
		}
	}
	return recipes
}

// makeOverride matches one VARIABLE=value of a make command line as make hands
// it to its children in MAKEFLAGS.
var makeOverride = regexp.MustCompile(`(?:^|\s)([A-Za-z_][A-Za-z0-9_]*)=`)

// CheckMakeOverrides refuses a variable on make's command line (in makeflags,
// the environment variable MAKEFLAGS) that nothing reads: a misspelt one would
// otherwise run the default sweep. others are names that the Makefile itself reads.
func CheckMakeOverrides(makeflags string, others ...string) error {
	_, overrides, found := strings.Cut(" "+makeflags, " -- ")
	if !found {
		return nil
	}
	var names []string
	for _, v := range variables {
		names = append(names, v.name)
	}
	names = append(names, others...)
	for _, m := range makeOverride.FindAllStringSubmatch(overrides, -1) {
		if !slices.Contains(names, m[1]) {
			return fmt.Errorf("unknown variable %s; known: %s", m[1], strings.Join(names, " "))
		}
	}
	return nil
}
