// Package workload is the table of workloads: what the clients of a run do, with which
// modes and variables. A script of one's own is a workload too.
package workload

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Workload is what the clients of a run do.
type Workload struct {
	Name    string // in the table; of a script of one's own, its file's name
	Script  string // file in k6/scripts, or the absolute path of one's own
	Meaning string // for help, in a few words
	// Presets are defaults of variables, by name, where they are not retrieval's. MODES
	// is always one.
	Presets map[string]string
	// ParseMode reads one of MODES. parameters are those of the run.
	ParseMode func(text string, parameters map[string]string) (Mode, error)
	Variables []Variable // its own, beside those of every run
	Jobs      bool       // a client's unit of work may be a job, with records of its own
	Objects   bool       // it asks for objects, not for pieces
	// Derive returns the parameters with what the script reads and follows from them and
	// the seed. Nil: nothing does.
	Derive func(parameters map[string]string, seed uint64) map[string]string
	// Data makes the objects that it asks for in these modes, or finds them made, in the
	// dataset's folder. Nil: it asks for none.
	Data func(ctx context.Context, folder string, modes []string, parameters map[string]string, seed uint64, log io.Writer) error
}

// Variable is a variable of a run that only some workloads have. It becomes a parameter
// of their scripts, under its name.
type Variable struct {
	Name, Default, Meaning string
	// Parse checks a value and returns it as the script reads it.
	Parse func(text string) (string, error)
}

// Own tells that it is a script of one's own.
func (w Workload) Own() bool { return filepath.IsAbs(w.Script) }

// Unit names a client's unit of work.
func (w Workload) Unit() string {
	if w.Jobs {
		return "job"
	}
	return "request"
}

// Path returns the path of its script, if piecebench's own are in folder scripts.
func (w Workload) Path(scripts string) string {
	if w.Own() {
		return w.Script
	}
	return filepath.Join(scripts, w.Script)
}

// ID is what Of takes: its name, or the absolute path of a script of one's own.
func (w Workload) ID() string {
	if w.Own() {
		return w.Script
	}
	return w.Name
}

// Find returns the workload of that name or, of a path that ends in .js, that of a
// script of one's own, which has to exist.
func Find(text string) (Workload, error) {
	if i := slices.IndexFunc(Table, func(w Workload) bool { return w.Name == text }); i >= 0 {
		return Table[i], nil
	}
	if !strings.HasSuffix(text, ".js") {
		return Workload{}, fmt.Errorf("unknown; known: %s, or the path of a k6 script of your own, which ends in .js", strings.Join(Names(), ", "))
	}
	if info, err := os.Stat(text); err != nil {
		return Workload{}, fmt.Errorf("the script cannot be read: %w", err)
	} else if !info.Mode().IsRegular() {
		return Workload{}, fmt.Errorf("the script is no file")
	}
	path, err := filepath.Abs(text)
	return own(path), err
}

// Of returns the workload of an ID; the default of none.
func Of(id string) Workload {
	id = cmp.Or(id, Retrieval)
	for _, w := range Table {
		if w.Name == id {
			return w
		}
	}
	return own(id)
}

// Names returns the names in the table.
func Names() (names []string) {
	for _, w := range Table {
		names = append(names, w.Name)
	}
	return names
}

// own is the workload of a script of one's own. What its modes mean is the script's
// business; one that is a size is also the length of the requests that it draws.
func own(path string) Workload {
	return Workload{
		Name: filepath.Base(path), Script: path, Presets: map[string]string{"MODES": "default"}, Jobs: true,
		ParseMode: func(text string, _ map[string]string) (Mode, error) {
			// A plain number is a name: of a count, say.
			if mode, err := request(text); err == nil && strings.Trim(text, "0123456789") != "" {
				return Mode{Name: mode.Name, Length: mode.Length}, nil
			}
			if !modeName.MatchString(text) {
				return Mode{}, fmt.Errorf("mode %q: want letters, digits, '.', '_' or '-', 40 at most", text)
			}
			return Mode{Name: text}, nil
		},
	}
}

// modeName keeps names fit for file names, labels and table columns.
var modeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)
