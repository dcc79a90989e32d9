// Package servers is the table of the lab's servers. Each has a folder here, with its
// recipe.yml, its configuration and its service of the containers' lab: see README.md.
package servers

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Recipe is how a server of the lab is installed and run, and what it serves.
// README.md describes each field.
type Recipe struct {
	Name       string            `yaml:"-"` // of its folder, and so of its part of the lab, its log and its container
	Target     string            `yaml:"target"`
	Port       int               `yaml:"port"`
	Clients    int               `yaml:"clients"`
	Serves     []string          `yaml:"serves"`
	Packages   map[string]string `yaml:"packages"`
	Version    []string          `yaml:"version"`
	Load       []string          `yaml:"load"`
	Run        []string          `yaml:"run"`
	Root       bool              `yaml:"root"`
	Processes  []string          `yaml:"processes"`
	StubStatus string            `yaml:"stub_status"`
}

// What a server may serve: data/flat as /piece/{piece}, data/objects as /object/{object}.
const (
	Pieces  = "pieces"
	Objects = "objects"
)

// Placeholders of commands; README.md says what each stands for.
const (
	Folder  = "{folder}"
	Data    = "{data}"
	State   = "{state}"
	RunDir  = "{run}"
	Bin     = "{bin}"
	Python  = "{python}"
	Port    = "{port}"
	Address = "{address}"
	Store   = "{store}"
)

var (
	placeholders = []string{Folder, Data, State, RunDir, Bin, Python, Port, Address, Store}
	placeholder  = regexp.MustCompile(`\{[^{}]*\}`)
)

//go:embed */recipe.yml
var folders embed.FS

var all = func() []Recipe {
	recipes, err := read(folders)
	if err != nil {
		panic(err) // the tests of this package find it
	}
	return recipes
}()

// All returns every recipe, in the order of their targets.
func All() []Recipe { return slices.Clone(all) }

// Of returns the recipe of a target.
func Of(target string) (Recipe, bool) {
	i := slices.IndexFunc(all, func(r Recipe) bool { return r.Target == target })
	if i < 0 {
		return Recipe{}, false
	}
	return all[i], true
}

// Targets returns the names that TARGETS may have for servers of the lab.
func Targets() []string {
	var names []string
	for _, r := range all {
		names = append(names, r.Target)
	}
	return names
}

// URL returns that of a piece, with {piece} in place of its CID.
func (r Recipe) URL(address string) string {
	return fmt.Sprintf("http://%s:%d/piece/{piece}", address, r.Port)
}

// ObjectURL returns that of an object, with {object} in place of its name, or nothing if
// the server has none.
func (r Recipe) ObjectURL(address string) string {
	if !slices.Contains(r.Serves, Objects) {
		return ""
	}
	return fmt.Sprintf("http://%s:%d/object/{object}", address, r.Port)
}

// Requirements names the Python packages of a server, in its folder; scripts/setup
// installs them, and puts a copy beside them.
const Requirements = "requirements.txt"

// PythonDir is where scripts/setup installs the server's Python packages.
func (r Recipe) PythonDir() string { return path.Join("/opt/piecebench", r.Name) }

// Uses says whether a command of the recipe has a placeholder.
func (r Recipe) Uses(placeholder string) bool {
	return slices.ContainsFunc(slices.Concat(r.Load, r.Run), func(arg string) bool { return strings.Contains(arg, placeholder) })
}

func read(fsys fs.FS) ([]Recipe, error) {
	names, err := fs.Glob(fsys, "*/recipe.yml")
	if err != nil {
		return nil, err
	}
	var recipes []Recipe
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		decoder.KnownFields(true)
		r := Recipe{Name: path.Dir(name)}
		err = decoder.Decode(&r)
		r.Target = cmp.Or(r.Target, r.Name)
		if err == nil {
			err = r.check(recipes)
		}
		if err != nil {
			return nil, fmt.Errorf("servers/%s: %w", name, err)
		}
		recipes = append(recipes, r)
	}
	slices.SortFunc(recipes, func(a, b Recipe) int { return cmp.Compare(a.Target, b.Target) })
	return recipes, nil
}

// reserved are the ports of the link agent and of Prometheus.
var reserved = []int{9100, 9090}

// check refuses a recipe that could not be run, or not beside the others.
func (r Recipe) check(others []Recipe) error {
	switch {
	case r.Port < 1024 || r.Port > 65535:
		return fmt.Errorf("port: %d: want one from 1024 to 65535, for a server that is not root", r.Port)
	case slices.Contains(reserved, r.Port):
		return fmt.Errorf("port: %d is the lab's own: choose another one", r.Port)
	case r.Clients < 1:
		return fmt.Errorf("clients: want how many the server is set up for")
	case len(r.Run) == 0 || len(r.Version) == 0:
		return fmt.Errorf("run and version: want the command of the server, and one that prints its version, as lists")
	case !slices.Contains(r.Serves, Pieces):
		return fmt.Errorf("serves: want [%s] or [%s, %s]", Pieces, Pieces, Objects)
	}
	for _, what := range r.Serves {
		if what != Pieces && what != Objects {
			return fmt.Errorf("serves: %q: want %s and %s", what, Pieces, Objects)
		}
	}
	for _, arg := range slices.Concat(r.Load, r.Run, r.Version) {
		for _, used := range placeholder.FindAllString(arg, -1) {
			if !slices.Contains(placeholders, used) {
				return fmt.Errorf("%q: %s is none of %s", arg, used, strings.Join(placeholders, " "))
			}
		}
	}
	for _, other := range others {
		if other.Port == r.Port || other.Target == r.Target {
			return fmt.Errorf("target %s on port %d: servers/%s has the same target or port", r.Target, r.Port, other.Name)
		}
	}
	return nil
}
