package result

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"piecebench/internal/wholefile"
)

// CapacityFile is the name of the answers' file in the folder of a run that searches capacities.
const CapacityFile = "capacity.json"

// Capacity is what a run keeps that searches the most clients within limits.
type Capacity struct {
	File    string           `json:"file"`     // name of the file of limits
	Limits  string           `json:"limits"`   // its content
	AtLeast int              `json:"at_least"` // clients that each target has to serve; at least 1
	Answers []CapacityAnswer `json:"answers"`  // one for each search, in their order
}

// CapacityAnswer is the answer of one search.
type CapacityAnswer struct {
	Target string `json:"target"`
	Link   string `json:"link"`
	Mode   string `json:"mode"`
	Most   int    `json:"most"`  // clients; the search goes no further
	Cells  int    `json:"cells"` // measured
	Done   bool   `json:"done"`  // false while it lasts, and of a search that was interrupted
	// Clients is the most that held all limits, below all that failed one; 0 if not even one
	// client did.
	Clients int `json:"clients"`
	// AtLeast says that the server may serve more, and why that is not known; empty if a
	// limit failed beyond.
	AtLeast string      `json:"at_least_because,omitempty"`
	Held    *CapacityAt `json:"held"`   // the cells with that many clients; null if there are none
	Beyond  *CapacityAt `json:"beyond"` // those with the least clients above that did not hold; null if there are none
	// Failure is the first cell with the clients of Beyond that failed.
	Failure *CapacityFailure `json:"failure,omitempty"`
	// Exceptions are numbers of clients that held above one that failed.
	Exceptions []int `json:"held_above_a_failure,omitempty"`
}

// Reasons why more than Clients may be possible.
const (
	AtLeastMost    = "most"    // all limits hold with the most clients that the search allows
	AtLeastMachine = "machine" // this machine could not load the server further
)

// CapacityAt is what the cells with one number of clients show.
type CapacityAt struct {
	Clients   int `json:"clients"`
	Held      int `json:"held"` // cells
	Failed    int `json:"failed"`
	NotJudged int `json:"not_judged"`
	// Confidence that most cells with so many clients would show the same.
	Confidence float64 `json:"confidence"`
}

// CapacityFailure is a cell that failed.
type CapacityFailure struct {
	Cell      int      `json:"cell"`
	Clients   int      `json:"clients"`
	Limits    []string `json:"limits"` // that do not hold, each with its figure
	LimitedBy string   `json:"limited_by"`
	Because   string   `json:"because,omitempty"`
}

// CapacityPrecision is the ratio of the clients beyond to those that held at which a search
// stops narrowing.
const CapacityPrecision = 1.05

// Wide tells whether the clients beyond are further from those that held than a search narrows
// them down.
func (a CapacityAnswer) Wide() bool {
	return a.Beyond != nil && a.Beyond.Clients > a.Clients+1 && float64(a.Beyond.Clients) > CapacityPrecision*float64(a.Clients)
}

// Reached tells whether every search has ended and found the wanted number of clients.
func (c *Capacity) Reached() bool {
	for _, a := range c.Answers {
		if !a.Done || a.Clients < c.AtLeast {
			return false
		}
	}
	return len(c.Answers) > 0
}

// WriteCapacity writes capacity.json into the folder of a run that searches capacities.
func WriteCapacity(dir string, run *Run) error {
	if run.Capacity == nil {
		return nil
	}
	data, err := json.MarshalIndent(struct {
		ID string `json:"id"`
		*Capacity
		Reached bool `json:"reached"`
	}{run.ID, run.Capacity, run.Capacity.Reached()}, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", CapacityFile, err)
	}
	return wholefile.Write(filepath.Join(dir, CapacityFile), append(data, '\n'), 0o644)
}
