package dashboards

import (
	"testing"
	"time"
)

func TestInterpolate(t *testing.T) {
	v := values{"run": "r1", "mode": anyOf([]string{"full", "1MiB"}), "link": anyOf([]string{"1gbit/40ms/0.1%"})}
	for expr, want := range map[string]string{
		`m{run="$run",mode=~"$mode"}`:                                `m{run="r1",mode=~"(full|1MiB)"}`,
		`m{run="${run}",link=~"$link"}`:                              `m{run="r1",link=~"1gbit/40ms/0\\.1%"}`,
		`label_replace(m, "series", "$1 p50", "target", "(.+)")`:     `label_replace(m, "series", "$1 p50", "target", "(.+)")`,
		`rate(m{run="$run"}[$__rate_interval]) or a{run=~".+$"} > 0`: "",
		`m{run="$typo"}`: "",
	} {
		got, err := v.interpolate(expr)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v; want %s", expr, got, err, want)
		}
	}
}

func TestRateIntervalIsGrafanas(t *testing.T) {
	for _, c := range []struct {
		interval string
		span     time.Duration
		step     time.Duration
		rate     string
	}{
		{"1s", 10 * time.Minute, time.Second, "4s"},
		{"", 10 * time.Minute, 2 * time.Second, "8s"},
		{"1s", 2 * time.Hour, 7 * time.Second, "8s"},
	} {
		v, step, err := values{}.times(Target{Interval: c.interval}, c.span)
		if err != nil || step != c.step || v["__rate_interval"] != c.rate {
			t.Errorf("min step %q over %v: step %v, $__rate_interval %s, %v; want %v, %s", c.interval, c.span, step, v["__rate_interval"], err, c.step, c.rate)
		}
	}
}
