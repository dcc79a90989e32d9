package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"piecebench/bench/workload"
)

// The variables of workloads. The first decides which modes and other variables a run
// has, and so is the first in the table.
const (
	workloadVariable   = "WORKLOAD"
	parametersVariable = "PARAMETERS"
	modesVariable      = "MODES"
)

// workloadVariables are WORKLOAD and the variables that only some workloads have.
func workloadVariables() []variable {
	var meanings []string
	for _, w := range workload.Table {
		meanings = append(meanings, w.Name+" ("+w.Meaning+")")
	}
	list := []variable{
		{workloadVariable, workload.Retrieval, "what clients do: " + strings.Join(meanings, ", ") + ", or the path of a k6 script of your own (.js)",
			func(s *Settings, text string) error {
				w, err := workload.Find(text)
				s.Workload = w.ID()
				return err
			}},
		{parametersVariable, "", "what a script of your own reads, as a=1,b=2", func(s *Settings, text string) (err error) {
			s.Parameters, err = parseParameters(text)
			return err
		}},
	}
	for _, w := range workload.Table {
		for _, v := range w.Variables {
			if slices.ContainsFunc(list, func(known variable) bool { return known.name == v.Name }) {
				continue
			}
			list = append(list, variable{v.Name, v.Default, strings.Join(users(v.Name), ", ") + ": " + v.Meaning, func(s *Settings, text string) error {
				value, err := v.Parse(text)
				if s.Parameters == nil {
					s.Parameters = map[string]string{}
				}
				s.Parameters[v.Name] = value
				return err
			}})
		}
	}
	return list
}

// users returns the workloads that have a variable; nil where it is of every run.
func users(name string) (ids []string) {
	for _, w := range workload.Table {
		if slices.ContainsFunc(w.Variables, func(v workload.Variable) bool { return v.Name == name }) {
			ids = append(ids, w.Name)
		}
	}
	return ids
}

// isOf tells whether a run of a workload has the variable.
func (v variable) isOf(id string) bool {
	if v.name == parametersVariable {
		return workload.Of(id).Own()
	}
	users := users(v.name)
	return users == nil || slices.Contains(users, id)
}

// presetOf returns the value of a variable that is not given. The modes of profiles are
// retrieval's.
func (v variable) presetOf(id string, profile map[string]string) string {
	preset := cmp.Or(workload.Of(id).Presets[v.name], v.preset)
	if v.name == modesVariable && id != workload.Retrieval {
		return preset
	}
	return cmp.Or(profile[v.name], preset)
}

// ScriptParameters returns the parameters that the workload's script reads.
func (s Settings) ScriptParameters() map[string]string {
	if derive := workload.Of(s.Workload).Derive; derive != nil {
		return derive(s.Parameters, s.Dataset.Seed)
	}
	return s.Parameters
}

// parseMode reads a mode of the workload.
func (s *Settings) parseMode(text string) (workload.Mode, error) {
	return workload.Of(s.Workload).ParseMode(text, s.Parameters)
}

func parseParameters(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	parameters := map[string]string{}
	for field := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(field), "=")
		if !found || name == "" {
			return nil, fmt.Errorf("want name=value,name=value")
		}
		if _, twice := parameters[name]; twice {
			return nil, fmt.Errorf("%s is listed twice", name)
		}
		parameters[name] = value
	}
	return parameters, nil
}

// WorkloadOf returns the name of the workload of a run with these settings. Older runs
// name none.
func WorkloadOf(text map[string]string) string {
	return cmp.Or(text[workloadVariable], workload.Retrieval)
}

// Measuring returns those of a run's settings that affect what is measured: all but
// prices.
func Measuring(text map[string]string) map[string]string {
	all := maps.Clone(text)
	if all == nil {
		all = map[string]string{}
	}
	maps.DeleteFunc(all, func(name, _ string) bool { return slices.Contains(PriceVariables, name) })
	all[workloadVariable] = WorkloadOf(text)
	return all
}
