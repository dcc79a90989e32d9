package retrieval

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// index.d.ts names what a script can use, and nothing else.
func TestTheTypesNameWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("index.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	// named returns what a part of the file declares, by a pattern of one group.
	named := func(of, pattern string) (names []string) {
		block := text
		if of != "" {
			block = regexp.MustCompile(`(?ms)^export (?:interface|class) ` + of + `\b.*?^}`).Find(text)
		}
		for _, m := range regexp.MustCompile(`(?m)`+pattern).FindAllSubmatch(block, -1) {
			names = append(names, string(m[1]))
		}
		slices.Sort(names)
		return names
	}
	const method, property = `^  (\w+)(?:<T>)?\(`, `^  (?:readonly )?(\w+)\??:`

	// fields returns the names of a struct's fields as scripts see them.
	fields := func(of reflect.Type) (names []string) {
		for f := range of.Fields() {
			if name := f.Tag.Get("js"); name != "" {
				names = append(names, name)
			}
		}
		return names
	}
	var c *client
	methods := []string{"constructor"}
	for name := range c.methods() {
		methods = append(methods, name)
	}
	var exports []string
	for name := range (&instance{}).Exports().Named {
		exports = append(exports, name)
	}
	for _, part := range []struct {
		what             string
		declared, really []string
	}{
		{"Client", named("Client", method), methods},
		{"the module", named("", `^export (?:class|function) (\w+)`), exports},
		{"Response", named("Response", property), fields(reflect.TypeFor[Response]())},
		{"Piece", named("Piece", property), fields(reflect.TypeFor[Piece]())},
		{"Client's properties", named("Client", property), []string{"pieces"}},
		{"Request and Options", append(named("Request", property), named("Options", property)...), slices.Clone(requestProperties)},
		{"BatchOptions and Options", append(named("BatchOptions", property), named("Options", property)...), slices.Clone(batchProperties)},
		{"Handle", named("Handle", method), []string{"wait"}},
	} {
		slices.Sort(part.really)
		slices.Sort(part.declared)
		if diff := cmp.Diff(part.really, part.declared); diff != "" {
			t.Errorf("%s: there is, and index.d.ts declares: %s", part.what, diff)
		}
	}
}
