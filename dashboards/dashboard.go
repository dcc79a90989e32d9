// Package dashboards is for tests: it runs the queries of the Grafana dashboards
// against a Prometheus, as Grafana would, to find panels that would stay empty.
package dashboards

import (
	"embed"
	"encoding/json"
	"fmt"
)

//go:generate go run ./generate grafana
//go:embed grafana/*.json
var files embed.FS

// Dashboard has the parts of Grafana's dashboard JSON that queries need.
type Dashboard struct {
	File       string `json:"-"`
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Templating struct {
		List []Variable `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []Annotation `json:"list"`
	} `json:"annotations"`
	Panels []Panel `json:"panels"`
}

// Variable is a dashboard's variable: a data source, or filled by a query.
type Variable struct {
	Name       string        `json:"name"`
	Type       string        `json:"type"`
	Datasource Datasource    `json:"datasource"`
	Query      VariableQuery `json:"query"`
	Multi      bool          `json:"multi"`
}

// VariableQuery is a query, or the type of the data sources that are offered.
type VariableQuery string

// UnmarshalJSON reads a string, or the query of an object.
func (q *VariableQuery) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*string)(q)); err == nil {
		return nil
	}
	var object struct{ Query string }
	err := json.Unmarshal(data, &object)
	*q = VariableQuery(object.Query)
	return err
}

// Annotation marks events in all panels.
type Annotation struct {
	Name       string     `json:"name"`
	BuiltIn    int        `json:"builtIn"`
	Enable     bool       `json:"enable"`
	Datasource Datasource `json:"datasource"`
	Target     Target     `json:"target"`
}

// Panel is a panel, or the row above panels.
type Panel struct {
	ID         int        `json:"id"`
	Type       string     `json:"type"`
	Title      string     `json:"title"`
	Repeat     string     `json:"repeat"` // a variable: the panel is repeated for each of its values
	Datasource Datasource `json:"datasource"`
	Targets    []Target   `json:"targets"`
	Panels     []Panel    `json:"panels"` // of a collapsed row, which Load puts behind it
}

// Target is a query of a panel.
type Target struct {
	RefID      string     `json:"refId"`
	Datasource Datasource `json:"datasource"`
	Expr       string     `json:"expr"`
	Instant    bool       `json:"instant"`
	Interval   string     `json:"interval"` // the shortest step; empty: the datasource's
}

// Datasource refers to where a query goes.
type Datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// Load returns all dashboards.
func Load() ([]Dashboard, error) {
	entries, err := files.ReadDir("grafana")
	if err != nil {
		return nil, err
	}
	var all []Dashboard
	for _, e := range entries {
		data, err := files.ReadFile("grafana/" + e.Name())
		if err != nil {
			return nil, err
		}
		d := Dashboard{File: e.Name()}
		if err := json.Unmarshal(data, &d); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		d.Panels = unfold(d.Panels)
		all = append(all, d)
	}
	return all, nil
}

func unfold(panels []Panel) (all []Panel) {
	for _, p := range panels {
		all = append(append(all, p), p.Panels...)
	}
	return all
}
