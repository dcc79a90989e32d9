package retrieval

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"piecebench/internal/plain"
	"piecebench/k6/x/retrieval/draw"
	"piecebench/piece/bytesize"
)

// options are the argument of new Client({...}). Values may be strings, as the
// environment has them; one that is undefined or empty has its default.
type options struct {
	url      string        // required: of a piece, with {piece} for its CID v1
	manifest string        // required: path of pieces.json; relative paths are to k6's working directory
	length   int64         // "mode": full (default), which is draw.Full, or the size of the ranges, as 1MiB
	seed     uint64        // of the sequence of pieces and offsets
	verify   float64       // share of requests whose bytes are checked, 0 (default) to 1
	fresh    bool          // "connections": reuse (default) or fresh, one for each request
	clients  uint64        // number of VUs, to spread their starts over the warm-up's first half
	warmup   time.Duration // from the scenario's start to the window's
	duration time.Duration // of the measured window; 0: until the test ends, which ends it in any case
	timeout  time.Duration // of a request; 0 (default): none
	stall    time.Duration // without a byte; default 30s, 0: none
	records  string        // path of the Parquet file to write; default none
	progress string        // path of the JSON-lines file to write; default none
}

// setters parse each option.
var setters = map[string]func(o *options, s string) error{
	"url": func(o *options, s string) error {
		o.url = s
		return nil
	},
	"manifest": func(o *options, s string) error { o.manifest = s; return nil },
	"records":  func(o *options, s string) error { o.records = s; return nil },
	"progress": func(o *options, s string) error { o.progress = s; return nil },
	"mode": func(o *options, s string) (err error) {
		if s == "full" {
			o.length = draw.Full
			return nil
		}
		if o.length, err = bytesize.Parse(s); err != nil {
			return errors.New("want full or a size such as 1MiB")
		}
		return nil
	},
	"seed": func(o *options, s string) (err error) { o.seed, err = strconv.ParseUint(s, 10, 64); return },
	"verify": func(o *options, s string) (err error) {
		o.verify, err = strconv.ParseFloat(s, 64)
		if err != nil || !(o.verify >= 0 && o.verify <= 1) {
			return errors.New("want a share from 0 to 1")
		}
		return nil
	},
	"connections": func(o *options, s string) error {
		o.fresh = s == "fresh"
		if s != "fresh" && s != "reuse" {
			return errors.New("want reuse or fresh")
		}
		return nil
	},
	"clients":  func(o *options, s string) (err error) { o.clients, err = strconv.ParseUint(s, 10, 32); return },
	"warmup":   func(o *options, s string) error { return parseDuration(&o.warmup, s) },
	"duration": func(o *options, s string) error { return parseDuration(&o.duration, s) },
	"timeout":  func(o *options, s string) error { return parseDuration(&o.timeout, s) },
	"stall":    func(o *options, s string) error { return parseDuration(&o.stall, s) },
}

func parseDuration(d *time.Duration, s string) (err error) {
	if *d, err = time.ParseDuration(s); err != nil || *d < 0 {
		return errors.New("want a duration such as 500ms or 10s")
	}
	return nil
}

func parseOptions(rt *sobek.Runtime, arg sobek.Value) (options, error) {
	o := options{length: draw.Full, seed: 1, stall: 30 * time.Second}
	if sobek.IsUndefined(arg) || sobek.IsNull(arg) {
		return o, errors.New("new Client: want an object with at least url and manifest")
	}
	obj := arg.ToObject(rt)
	for _, name := range obj.Keys() {
		v := obj.Get(name)
		set, known := setters[name]
		if !known {
			return o, fmt.Errorf("new Client: unknown option %s; known are %s",
				name, strings.Join(slices.Sorted(maps.Keys(setters)), ", "))
		}
		if sobek.IsUndefined(v) || v.String() == "" {
			continue
		}
		if err := set(&o, v.String()); err != nil {
			return o, fmt.Errorf("new Client: %s %q: %w", name, v.String(), err)
		}
	}
	switch {
	case o.url == "" || o.manifest == "":
		return o, errors.New("new Client: url and manifest are required (k6 run -e URL=http://host/piece/{piece} -e MANIFEST=data/pieces.json)")
	case !strings.Contains(o.url, "{piece}"):
		return o, fmt.Errorf("new Client: url %s: no {piece} in it, which stands for the piece CID", plain.URL(o.url))
	}
	return o, nil
}
