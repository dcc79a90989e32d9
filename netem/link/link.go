// Package link holds the notation of an emulated link, rate/delay[/loss], for
// example 1gbit/40ms or 10gbit/40ms/0.1%, or none.
package link

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// What tc can be asked for. A rate below MinRateBits would turn the burst of
// one 64 KB GSO packet into more than eight seconds; tbf keeps its queue limit
// in 32 bits, so that rate x delay may not exceed MaxBDP.
const (
	MinRateBits = 64_000
	MaxRateBits = 400_000_000_000
	MaxDelay    = 10 * time.Second
	MaxBDP      = math.MaxUint32 // bytes
)

// Spec is one link: what the servers' egress is limited to.
type Spec struct {
	// RateBits is the rate in bits per second as tc's tbf counts it (IP and
	// Ethernet header bytes, no preamble and gap); 0 is no cap.
	RateBits int64
	// Delay is one-way and so what is added to the RTT; 0 is none.
	Delay time.Duration
	// Loss is the probability, 0 to 1, that a packet from the servers is lost.
	Loss float64
}

// None is the link that changes nothing.
var None = Spec{}

// FullSizedShare is the share of a rate that TCP payload gets in full-sized
// packets: 1448 of the 1514 bytes that tbf counts, with an MTU of 1500.
const FullSizedShare = 1448.0 / 1514

// BDP returns the bandwidth-delay product in bytes.
func (s Spec) BDP() int64 {
	return int64(float64(s.RateBits) / 8 * s.Delay.Seconds())
}

// Validate says in one line why a link cannot be set, or returns nil.
func (s Spec) Validate() error {
	switch {
	case s.RateBits != 0 && (s.RateBits < MinRateBits || s.RateBits > MaxRateBits):
		return fmt.Errorf("rate %s is not one that tc can shape: use %s to %s, or 0 for no cap",
			formatRate(s.RateBits), formatRate(MinRateBits), formatRate(MaxRateBits))
	case s.Delay < 0 || s.Delay > MaxDelay:
		return fmt.Errorf("delay %v is out of range: use 0ms to %v", s.Delay, MaxDelay)
	case math.IsNaN(s.Loss) || s.Loss < 0 || s.Loss > 1:
		return fmt.Errorf("loss %v is not a probability: use 0 to 1 (0%% to 100%%)", s.Loss)
	case s.BDP() > MaxBDP:
		return fmt.Errorf("%s with %v needs a queue of %d MB, and tc can hold %d MB: lower the rate or the delay",
			formatRate(s.RateBits), s.Delay, s.BDP()/1e6, int64(MaxBDP)/1_000_000)
	}
	return nil
}

// String returns the shortest notation that parses to s again.
func (s Spec) String() string {
	if s == None {
		return "none"
	}
	text := formatRate(s.RateBits) + "/" + formatDelay(s.Delay)
	if s.Loss != 0 {
		text += "/" + formatLoss(s.Loss)
	}
	return text
}

const example = "write it as 1gbit/40ms, 10gbit/40ms/0.1% or none"

// Parse reads the notation: a rate in bit, kbit, mbit or gbit (powers of 1000;
// 0bit is no cap), a one-way delay in us, ms or s, and optionally a loss in
// percent. Its result is valid.
func Parse(text string) (Spec, error) {
	lower := strings.ToLower(strings.TrimSpace(text))
	if lower == "none" {
		return None, nil
	}
	parts := strings.Split(lower, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return None, fmt.Errorf("link %q is not rate/delay or rate/delay/loss: %s", text, example)
	}
	rate, err := parseUnit(parts[0], rateUnits)
	if err != nil {
		return None, fmt.Errorf("link %q: rate %q %w: %s", text, parts[0], err, example)
	}
	delay, err := parseUnit(parts[1], delayUnits)
	if err != nil {
		return None, fmt.Errorf("link %q: delay %q %w: %s", text, parts[1], err, example)
	}
	var loss float64
	if len(parts) == 3 {
		if loss, err = parseUnit(parts[2], lossUnits); err != nil {
			return None, fmt.Errorf("link %q: loss %q %w: %s", text, parts[2], err, example)
		}
	}
	// Far beyond every limit, and still safe to convert to an integer.
	rate, delay = math.Min(rate, 1e18), math.Min(delay, 1e18)
	spec := Spec{RateBits: int64(math.Round(rate)), Delay: time.Duration(math.Round(delay)), Loss: loss}
	if err := spec.Validate(); err != nil {
		return None, fmt.Errorf("link %q: %w", text, err)
	}
	return spec, nil
}

// A unit is a power of ten, so that a number is read and written in one exact
// step: 0.07% is the same float64 as 0.0007.
type unit struct {
	name     string
	exponent int
}

// Longest name first, so that a suffix is found whole.
var (
	rateUnits  = []unit{{"kbit", 3}, {"mbit", 6}, {"gbit", 9}, {"bit", 0}}
	delayUnits = []unit{{"us", 3}, {"ms", 6}, {"s", 9}}
	lossUnits  = []unit{{"%", -2}}
)

// ParseRate reads a rate in bit, kbit, mbit or gbit, in bits per second.
func ParseRate(text string) (float64, error) {
	return parseUnit(strings.ToLower(strings.TrimSpace(text)), rateUnits)
}

func parseUnit(text string, units []unit) (float64, error) {
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		value, err := strconv.ParseFloat(number+"e"+strconv.Itoa(u.exponent), 64)
		if err != nil || value < 0 {
			return 0, fmt.Errorf("is not a number and %s", unitNames(units))
		}
		return value, nil
	}
	if strings.HasSuffix(text, "bps") { // to tc, gbps is gigabytes
		return 0, fmt.Errorf("must say %s (bps would be bytes to tc)", unitNames(units))
	}
	return 0, fmt.Errorf("must end with %s", unitNames(units))
}

func unitNames(units []unit) string {
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.name
	}
	return strings.Join(names, ", ")
}

func formatRate(bits int64) string {
	for _, u := range []unit{{"gbit", 9}, {"mbit", 6}, {"kbit", 3}} {
		if value := shift(float64(bits), -u.exponent); value >= 1 {
			return formatNumber(value) + u.name
		}
	}
	return strconv.FormatInt(bits, 10) + "bit"
}

func formatDelay(d time.Duration) string { return formatNumber(shift(float64(d), -6)) + "ms" }

func formatLoss(p float64) string { return formatNumber(shift(p, 2)) + "%" }

// shift returns v times 10^by, exact in decimal.
func shift(v float64, by int) float64 {
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	e, _ := strconv.Atoi(exponent)
	shifted, _ := strconv.ParseFloat(digits+"e"+strconv.Itoa(e+by), 64)
	return shifted
}

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
