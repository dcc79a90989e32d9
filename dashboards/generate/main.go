// Command generate writes the JSON of the Grafana dashboards into the folder that
// it is given: `go generate ./dashboards`. Panels that look alike share a function;
// a colour, a unit or a selector of series is in one place.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER")
		os.Exit(2)
	}
	for name, data := range files() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), data, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
}

// files returns the dashboards' JSON by the names of their files.
func files() map[string][]byte {
	made := map[string][]byte{}
	for name, d := range map[string]object{"compare.json": compare(), "lab.json": lab(), "runs.json": runs()} {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", " ")
		if err := encoder.Encode(d); err != nil {
			panic(err) // of maps, lists and texts there is none
		}
		made[name] = text.Bytes()
	}
	return made
}
