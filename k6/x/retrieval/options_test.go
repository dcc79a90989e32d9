package retrieval_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"piecebench/records"
)

func TestBadInputIsRefusedBeforeAnythingIsMade(t *testing.T) {
	good := newCell(t, nil)
	broken := filepath.Join(good.dir, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"version":1,`), 0o644); err != nil {
		t.Fatal(err)
	}
	for text, set := range map[string]func(*records.Cell){
		"mode 1MiB: the range is larger than piece baga": func(c *records.Cell) { c.Length = 1 << 20 },
		"has no {piece}":           func(c *records.Cell) { c.URL = "http://127.0.0.1:1/x" },
		"use http://host":          func(c *records.Cell) { c.URL = "ftp://127.0.0.1/{piece}" },
		"no url and no object_url": func(c *records.Cell) { c.URL = "" },
		"no such file":             func(c *records.Cell) { c.Manifest = "/nonexistent/pieces.json" },
		"manifest " + broken:       func(c *records.Cell) { c.Manifest = broken },
		"want a share from 0 to 1": func(c *records.Cell) { c.Verify = 2 },
		"a negative length":        func(c *records.Cell) { c.Stall = -1 },
		"exists already":           func(c *records.Cell) { c.RecordsPath = c.Manifest },
	} {
		c := &cell{does: good.does, dir: good.dir, points: good.points}
		set(&c.does)
		err := c.command(t).Run()
		if err == nil || !strings.Contains(c.stderr.String(), text) {
			t.Errorf("%v, %q; want %q", err, c.stderr.String(), text)
		}
		for _, path := range []string{good.records, good.records + ".unfinished", good.progress} {
			if _, err := os.Stat(path); err == nil {
				t.Errorf("%s: left %s behind", text, filepath.Base(path))
			}
		}
	}
	if out, err := exec.Command(good.command(t).Path, "run", "../../scripts/retrieval.js").CombinedOutput(); err == nil || !strings.Contains(string(out), "records.Cell describes") {
		t.Errorf("without a cell: %v, %s", err, out)
	}
}
