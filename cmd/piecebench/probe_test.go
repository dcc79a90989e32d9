package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"piecebench/piece/commp"
	"piecebench/probe"
)

func TestProbeSaysWhatFails(t *testing.T) {
	data := bytes.Repeat([]byte("piece"), 127)
	cid, err := commp.Sum(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	ranges := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ranges {
			r.Header.Del("Range")
		}
		if !strings.HasSuffix(r.URL.Path, cid.V1().String()) {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}))
	defer server.Close()
	address := server.URL + "/piece/{piece}"
	run := func(args ...string) (string, int, error) { return executed(probeCommand(), args...) }

	if out, code, err := run(address, cid.V1().String()); code != 0 || !strings.Contains(out, "at most 120 requests, 64MiB") || !strings.Contains(out, "pass  range ") || !strings.Contains(out, ", 0 fail, ") {
		t.Errorf("%d, %v\n%s", code, err, out)
	}
	ranges = false
	out, code, err := run(address, cid.V1().String(), "--json")
	var r probe.Report
	_, text, _ := strings.Cut(out, "\n") // after the bounds, on standard error
	if code != 1 || err.Error() != "1 of 26 checks fail" || json.Unmarshal([]byte(text), &r) != nil || r.Count(probe.Fail) != 1 {
		t.Errorf("%d, %v\n%s", code, err, out)
	}
	for _, args := range [][]string{{address}, {}, {address, "baga"}, {"http://127.0.0.1:1/{piece}", cid.String()}, {address, cid.String(), "--max-bytes", "much"}} {
		if out, code, _ := run(args...); code != 2 || strings.Contains(out, "pass") {
			t.Errorf("%q: %d\n%s", args, code, out)
		}
	}
}
