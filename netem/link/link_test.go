package link

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Spec{
		"none":              {},
		"0bit/0ms":          {},
		"1gbit/40ms":        {RateBits: 1e9, Delay: 40 * time.Millisecond},
		"10GBIT/40ms/0.1%":  {RateBits: 1e10, Delay: 40 * time.Millisecond, Loss: 0.001},
		" 500mbit/5ms ":     {RateBits: 5e8, Delay: 5 * time.Millisecond},
		"2.5gbit/1500us":    {RateBits: 25e8, Delay: 1500 * time.Microsecond},
		"64kbit/10s":        {RateBits: 64000, Delay: 10 * time.Second},
		"0bit/40ms":         {Delay: 40 * time.Millisecond},
		"1gbit/0ms":         {RateBits: 1e9},
		"100mbit/1s/100%":   {RateBits: 1e8, Delay: time.Second, Loss: 1},
		"1gbit/40ms/0.07%":  {RateBits: 1e9, Delay: 40 * time.Millisecond, Loss: 0.0007},
		"1gbit/40ms/.0001%": {RateBits: 1e9, Delay: 40 * time.Millisecond, Loss: 1e-6},
		"999999999bit/40ms": {RateBits: 999999999, Delay: 40 * time.Millisecond},
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		if got != want {
			t.Errorf("Parse(%q) = %+v, want %+v", text, got, want)
		}
		if again, err := Parse(got.String()); err != nil || again != got {
			t.Errorf("Parse(%q).String() = %q, which parses to %+v, %v", text, got.String(), again, err)
		}
	}
}

func TestStringIsShort(t *testing.T) {
	for _, text := range []string{"none", "1gbit/40ms", "10gbit/40ms/0.1%", "500mbit/5ms", "1.5gbit/0.5ms/0.07%", "0bit/40ms"} {
		spec, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if spec.String() != text {
			t.Errorf("%q comes back as %q", text, spec.String())
		}
	}
}

func TestParseNamesTheBadPart(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "rate/delay",
		"1gbit":               "rate/delay",
		"1gbit/40ms/1%/x":     "rate/delay",
		"fast/40ms":           `rate "fast" must end with`,
		"1gbps/40ms":          `bytes to tc`,
		"xgbit/40ms":          `rate "xgbit" is not a number`,
		"-1gbit/40ms":         `rate "-1gbit" is not a number`,
		"1gbit/40":            `delay "40" must end with`,
		"1gbit/soonms":        `delay "soonms" is not a number`,
		"1gbit/40ms/0.1":      `loss "0.1" must end with %`,
		"1gbit/40ms/101%":     "not a probability",
		"1gbit/11s":           "delay 11s is out of range",
		"1bit/40ms":           "not one that tc can shape",
		"9999999gbit/40ms":    "not one that tc can shape",
		"1e3gbit/40ms":        "is not a number",
		"100gbit/10s":         "needs a queue of",
		"nangbit/40ms":        "is not a number",
		"1gbit/infms":         "is not a number",
		"1gbit/40ms/nan%":     "is not a number",
		"none/40ms":           `rate "none" must end with`,
		"1gbit/40ms/0.1%/40%": "rate/delay",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want an error that says %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%q): the error has more than one line: %v", text, err)
		}
	}
}

func TestBDP(t *testing.T) {
	if got := (Spec{RateBits: 1e10, Delay: 40 * time.Millisecond}).BDP(); got != 50_000_000 {
		t.Errorf("BDP of 10gbit/40ms is %d bytes, want 50000000", got)
	}
}
