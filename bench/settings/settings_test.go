package settings

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"piecebench/bench/cost"
	"piecebench/bench/workload"
	"piecebench/piece/dataset"
)

func TestDefaultsAreTheDocumentedSweep(t *testing.T) {
	s, err := FromText(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Concurrency{Default: []int{1, 10, 100, 1000}}, s.Concurrency); diff != "" {
		t.Error("concurrency", diff)
	}
	if len(s.Links) != 2 || s.Links[0].String() != "1gbit/40ms" || s.Links[1].String() != "10gbit/40ms" {
		t.Errorf("links %v", s.Links)
	}
	want := []workload.Mode{{Name: "full", Requests: 1}, {Name: "1MiB", Length: 1 << 20, Requests: 1}, {Name: "10MiB", Length: 10 << 20, Requests: 1}, {Name: "100MiB", Length: 100 << 20, Requests: 1}}
	if diff := cmp.Diff(want, s.Modes); diff != "" {
		t.Error("modes", diff)
	}
	if s.Duration != 10*time.Second || s.Warmup != 2*time.Second || s.Verify != 0.05 || s.Dataset != dataset.Default {
		t.Errorf("settings %+v", s)
	}
}

func TestConcurrencyIsASweepOrExactlyAList(t *testing.T) {
	for text, want := range map[string][]int{
		"1":        {1},
		"10":       {1, 10},
		"64":       {1, 10, 64},
		"1000":     {1, 10, 100, 1000},
		"1000,":    {1000},
		"1,8,16":   {1, 8, 16},
		" 10, 100": {10, 100},
	} {
		s, err := FromText(map[string]string{"CONCURRENCY": text})
		if err != nil {
			t.Errorf("CONCURRENCY=%q: %v", text, err)
		} else if diff := cmp.Diff(want, s.Concurrency.Default); diff != "" {
			t.Errorf("CONCURRENCY=%q: %s", text, diff)
		}
	}
}

func TestMoreClientsThanTheLabHoldsAreRefused(t *testing.T) {
	for _, v := range []struct {
		concurrency, targets string
		refused              bool
	}{
		{"20000", "raw,gateway", false},
		{"20001", "raw,gateway", true},
		{"1000/full:20001", "raw", true},
		{"1000/100MiB:20001", "raw", false}, // not among the modes
		{"50000", "mine=http://h/p/{piece}", false},
		{"50000", "mine=http://h/p/{piece},raw", true},
	} {
		_, err := FromText(map[string]string{"CONCURRENCY": v.concurrency, "TARGETS": v.targets, "MODES": "full,1MiB"})
		if refused := err != nil; refused != v.refused || refused && !strings.Contains(err.Error(), "20000 clients") {
			t.Errorf("CONCURRENCY=%s TARGETS=%s: %v", v.concurrency, v.targets, err)
		}
	}
}

func TestAModeCanHaveItsOwnConcurrency(t *testing.T) {
	s, err := FromText(map[string]string{"CONCURRENCY": "10/full:1,8/1024KiB:100", "MODES": "full,1MiB,10MiB"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int{{1, 8}, {1, 10, 100}, {1, 10}} {
		if diff := cmp.Diff(want, s.Concurrency.Of(s.Modes[i])); diff != "" {
			t.Errorf("%s: %s", s.Modes[i].Name, diff)
		}
	}
}

func TestBadValuesAreRefusedInOneLineThatNamesTheVariable(t *testing.T) {
	for _, c := range []struct{ name, value, says string }{
		{"CONCURRENCY", "0", "from 1"},
		{"CONCURRENCY", "-1", "from 1"},
		{"CONCURRENCY", "many", "from 1"},
		{"CONCURRENCY", "1,,2", "from 1"},
		{"CONCURRENCY", "10,10", "twice"},
		{"CONCURRENCY", "1000000", "50000"},
		{"CONCURRENCY", "full:1,8", "other modes"},
		{"CONCURRENCY", "1,2/3,4", "name the mode"},
		{"CONCURRENCY", "1/ful:2", "want full or a range size"},
		{"CONCURRENCY", "1/full:2/full:3", "full is listed twice"},
		{"CONCURRENCY", "1/full:", "from 1"},
		{"LINKS", "1gbit", "1gbit/40ms"},
		{"LINKS", "1bit/40ms", "tc"},
		{"LINKS", "1gbit/40ms,1gbit/40ms", "twice"},
		{"MODES", "1MB", "MiB"},
		{"MODES", "0MiB", "MiB"},
		{"MODES", "1GiB", "larger than a piece"},
		{"TARGETS", "mine", "caddy, gateway, glusterfs, raw, seaweedfs"},
		{"TARGETS", "mine=http://127.0.0.1/", "{piece}"},
		{"TARGETS", "mine=ftp://host/{piece}", "http://"},
		{"TARGETS", "<script>=http://host/{piece}", "letters"},
		{"TARGETS", "raw,raw", "twice"},
		{"DURATION", "10", "such as 10s"},
		{"DURATION", "-5s", "such as 10s"},
		{"WARMUP", "soon", "such as 10s"},
		{"REQUESTS", "0", "window"},
		{"REQUESTS", "1", "WARMUP=0s"},
		{"REQUESTS", "few", "window"},
		{"REPEAT", "0", "from 1"},
		{"VERIFY", "1.5", "0 to 1"},
		{"VERIFY", "NaN", "0 to 1"},
		{"CONNECTIONS", "pool", "reuse, fresh"},
		{"CACHE", "hot", "warm, cold"},
		{"PROFILE", "slow", "quick"},
		{"RUNTIME", "podman", "native"},
		{"PIECES", "0", "from 1"},
		{"PIECE_SIZE", "500MiB", "power of two"},
		{"PIECE_SIZE", "64B", "smallest"},
		{"SEED", "-1", "2^64"},
		{"PRICE_EGRESS", "-0.01", "from 0"},
		{"PRICE_EGRESS", "NaN", "from 0"},
		{"PRICE_EGRESS", "0.05 EUR", "without a currency"},
		{"PRICE_SERVER_HOUR", "cheap", "from 0"},
		{"PRICE_SERVER_HOUR", "Inf", "from 0"},
	} {
		_, err := FromText(map[string]string{c.name: c.value})
		if err == nil {
			t.Errorf("%s=%s is accepted", c.name, c.value)
			continue
		}
		if text := err.Error(); !strings.Contains(text, c.name+"="+c.value) && c.says != "larger than a piece" || !strings.Contains(text, c.says) || strings.Contains(text, "\n") {
			t.Errorf("%s=%s: error %q does not say %q", c.name, c.value, text, c.says)
		}
	}
}

func TestGivenValuesGoBeforeTheProfileAndThatBeforeTheDefault(t *testing.T) {
	s, err := FromText(map[string]string{"PROFILE": "quick", "MODES": "10MiB", "LINKS": ""})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Modes) != 1 || s.Modes[0].Name != "10MiB" {
		t.Errorf("modes %v: the profile went before what was given", s.Modes)
	}
	if len(s.Links) != 1 {
		t.Errorf("links %v: the default went before the profile, or an empty value counted as given", s.Links)
	}
}

func TestFlagsGoBeforeTheEnvironment(t *testing.T) {
	t.Setenv("REPEAT", "3")
	t.Setenv("SEED", "7")
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse([]string{"--repeat=5"}); err != nil {
		t.Fatal(err)
	}
	s, err := Load(flags)
	if err != nil || s.Repeat != 5 || s.Dataset.Seed != 7 {
		t.Errorf("repeat %d, seed %d, %v; want 5 from the flag and 7 from the environment", s.Repeat, s.Dataset.Seed, err)
	}
}

func TestSettingsAreHandedOnAsValues(t *testing.T) {
	want, err := FromText(map[string]string{"PROFILE": "quick", "CONCURRENCY": "10/full:1,8", "SEED": "18446744073709551615", "TARGETS": "raw,own=https://user:secret@h:1/p/{piece}?token=secret", "LINKS": "1gbit/40ms/0.1%,none"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Settings
	err = json.Unmarshal(text, &got)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestSecretsOfTargetsAreNotShown(t *testing.T) {
	s, err := FromText(map[string]string{"TARGETS": "raw, own=https://user:secret@h:1/p/{piece}?token=secret"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Text["TARGETS"], "raw,own=https://***@h:1/p/{piece}?token=***"; got != want || s.Targets[1].URL != "https://user:secret@h:1/p/{piece}?token=secret" {
		t.Errorf("shown %s, want %s; target %+v", got, want, s.Targets[1])
	}
	for _, wrong := range []string{
		s.Text["TARGETS"],
		"own=http://user:secret@h/p",
		"own=http://user:sec,secret@h/{piece}",
		"own=http://user:sec/secret@h/{piece}",
		"http://user:secret@h/{piece}",
		"user:secret@h",
		"own=http://h/p?token=secret",
		"own=ftp://secret@h/{piece}",
	} {
		if _, err := FromText(map[string]string{"TARGETS": wrong}); err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestPricesOfARunCanBeGivenLater(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(flags, PriceVariables...)
	if err := flags.Parse([]string{"--price-egress=0.05"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of   map[string]string
		want cost.Prices
	}{
		{nil, cost.Prices{Egress: 0.05}},
		{map[string]string{"MODES": "full"}, cost.Prices{Egress: 0.05}}, // of before there were prices
		{map[string]string{"PRICE_EGRESS": "1", "PRICE_SERVER_HOUR": "2"}, cost.Prices{Egress: 0.05, ServerHour: 2}},
	} {
		with, err := WithPrices(c.of, flags)
		if err != nil {
			t.Fatal(err)
		}
		if prices, err := Prices(with); err != nil || prices != c.want {
			t.Errorf("%v: prices %+v, %v; want %+v", c.of, prices, err, c.want)
		}
	}
	if _, err := WithPrices(map[string]string{"PRICE_SERVER_HOUR": "damaged"}, flags); err == nil || !strings.Contains(err.Error(), "PRICE_SERVER_HOUR=damaged") {
		t.Errorf("a damaged price of a run: %v", err)
	}
}

func TestMisspeltMakeVariablesAreRefused(t *testing.T) {
	for makeflags, refused := range map[string]string{
		"":                                 "",
		"s -- CONCURRENCY=10 LINKS=a":      "",
		" -- RUN=results/x":                "",
		"s -j4 -- CONCURENCY=10":           "CONCURENCY",
		` -- TARGETS=a=http://h/{piece}`:   "",
		" -- MODES=full DURATIONS=1s":      "DURATIONS",
		"s --jobserver-auth=3,4 -- SEED=1": "",
	} {
		err := CheckMakeOverrides(makeflags, "RUN")
		if (err != nil) != (refused != "") || err != nil && !strings.Contains(err.Error(), "variable "+refused+";") {
			t.Errorf("MAKEFLAGS=%q: %v; want %q refused", makeflags, err, refused)
		}
	}
}
