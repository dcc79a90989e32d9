package main

import (
	"os"
	"path/filepath"
)

// install is where piecebench's own files lie: bin/ holds this binary, and the
// parts' files lie beside bin/.
type install struct{ root string }

func findInstall() (install, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	return install{filepath.Dir(filepath.Dir(self))}, err
}

func (i install) bin() string     { return filepath.Join(i.root, "bin") }
func (i install) k6() string      { return filepath.Join(i.bin(), "k6") }
func (i install) scripts() string { return filepath.Join(i.root, "k6", "scripts") }
func (i install) servers() string { return filepath.Join(i.root, "servers") }
func (i install) prometheusConf() string {
	return filepath.Join(i.root, "dashboards", "prometheus.yml")
}

// Folders and files that commands share unless told otherwise, relative to the
// working directory.
const (
	defaultData    = "data"
	defaultResults = "results"
	manifestName   = "pieces.json"
	prometheusData = ".prometheus" // in the results' folder: the database of the native lab's Prometheus
)
