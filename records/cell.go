package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"piecebench/piece/pieceurl"
)

// Cell is what the generator does in one cell. The runner hands it over as JSON
// in the environment variable CELL; the script passes it on.
type Cell struct {
	URL         string        `json:"url"`         // of a piece, empty where the server has objects only; by a template of package pieceurl; a user and password become a header (Basic)
	Manifest    string        `json:"manifest"`    // path of pieces.json
	Length      int64         `json:"length"`      // bytes of a range; 0: whole pieces
	Clients     uint64        `json:"clients"`     // their starts are spread over half the warm-up
	Requests    int           `json:"requests"`    // of each client, or jobs where the workload has jobs; 0: as many as fit into the window
	Warmup      time.Duration `json:"warmup_ns"`   // from the scenario's start to the window's
	Duration    time.Duration `json:"duration_ns"` // of the window
	Verify      float64       `json:"verify"`      // share of requests whose bytes are checked, 0 to 1
	Fresh       bool          `json:"fresh"`       // a new connection for each request
	Seed        uint64        `json:"seed"`        // of the sequence of pieces and offsets
	Timeout     time.Duration `json:"timeout_ns"`  // of a request; 0: none
	Stall       time.Duration `json:"stall_ns"`    // the longest without a byte; 0: no limit
	RecordsPath string        `json:"records"`     // Parquet file to write; empty: none
	Progress    string        `json:"progress"`    // file of JSON lines to write; empty: none
	// What workloads with jobs need beside it.
	Mode       string            `json:"mode"`       // the mode's name, which the script reads
	Parameters map[string]string `json:"parameters"` // of the workload, which the script reads
	ObjectURL  string            `json:"object_url"` // of an object that is not a piece, {object} in place of its name; empty: the server has none
	JobsPath   string            `json:"jobs"`       // Parquet file to write; empty: none
	Scratch    string            `json:"scratch"`    // folder that a script's stages may write to; empty: none
	// Headers are added to every request to the URL's server, and to none to another.
	Headers  http.Header `json:"headers"`
	Insecure bool        `json:"insecure"` // accept any certificate
	// Tags go on every metric of k6.
	Tags map[string]string `json:"tags"`
}

// Variable returns the environment variable that hands the cell over.
func (c Cell) Variable() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // its fields are plain values
	}
	return "CELL=" + string(text)
}

// ParseCell reads a cell, and refuses one that cannot be run.
func ParseCell(text string) (Cell, error) {
	var c Cell
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return c, fmt.Errorf(`the cell is not what records.Cell describes: %w: give k6 run -e CELL='{"url":"http://host/piece/{piece}","manifest":"data/pieces.json",...}'`, err)
	}
	var err error
	if c.URL != "" {
		_, err = pieceurl.Version(c.URL)
	}
	switch {
	case c.URL == "" && c.ObjectURL == "" || c.Manifest == "":
		return c, errors.New("the cell has no url and no object_url, or no manifest")
	case err != nil:
		return c, fmt.Errorf("the cell's url has %w", err)
	case !(c.Verify >= 0 && c.Verify <= 1):
		return c, fmt.Errorf("verify is %g: want a share from 0 to 1", c.Verify)
	case c.ObjectURL != "" && !strings.Contains(c.ObjectURL, "{object}"):
		return c, errors.New("the cell's object_url has no {object}, which stands for the object's name")
	case c.Length < 0 || c.Warmup < 0 || c.Duration < 0 || c.Timeout < 0 || c.Stall < 0:
		return c, errors.New("the cell has a negative length or duration")
	}
	return c, nil
}
