package retrieval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBadInputIsRefusedBeforeAnythingIsMade(t *testing.T) {
	good := newCell(t, nil)
	manifest := good.env["MANIFEST"]
	broken := filepath.Join(good.dir, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"version":1,`), 0o644); err != nil {
		t.Fatal(err)
	}
	for text, env := range map[string]string{
		"mode 1MiB: the range is larger than piece baga": "MODE=1MiB",
		"want full or a size such as 1MiB":               "MODE=big",
		"no {piece} in it":                               "URL=http://127.0.0.1:1/x",
		"use http://host":                                "URL=ftp://127.0.0.1/{piece}",
		"url and manifest are required":                  "URL=",
		"no such file":                                   "MANIFEST=/nonexistent/pieces.json",
		"manifest " + broken:                             "MANIFEST=" + broken,
		"want a share from 0 to 1":                       "VERIFY=2",
		"want reuse or fresh":                            "CONNECTIONS=new",
		"want a duration":                                "STALL=soon",
		"exists already":                                 "RECORDS=" + manifest,
	} {
		c := &cell{env: map[string]string{}, dir: good.dir, points: good.points}
		for k, v := range good.env {
			c.env[k] = v
		}
		k, v, _ := strings.Cut(env, "=")
		c.env[k] = v
		err := c.command(t).Run()
		if err == nil || !strings.Contains(c.stderr.String(), text) {
			t.Errorf("%s: %v, %q; want %q", env, err, c.stderr.String(), text)
		}
		for _, path := range []string{good.records, good.records + ".parts", good.progress} {
			if _, err := os.Stat(path); err == nil {
				t.Errorf("%s left %s behind", env, filepath.Base(path))
			}
		}
	}
}
