package workload

import (
	"fmt"
	"strconv"
	"time"

	"piecebench/internal/parse"
)

// number returns a parameter that was parsed as a number.
func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

func share(text string) (string, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 1e-9 && n <= 1) {
		return "", fmt.Errorf("want a number from 1e-9 to 1")
	}
	return strconv.FormatFloat(n, 'g', -1, 64), nil
}

func count(most int) func(string) (string, error) {
	return func(text string) (string, error) {
		n, err := parse.Count(most)(text)
		return strconv.Itoa(n), err
	}
}

func milliseconds(text string) (string, error) { return duration(text, time.Millisecond) }
func seconds(text string) (string, error)      { return duration(text, time.Second) }

func duration(text string, unit time.Duration) (string, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > 24*time.Hour {
		return "", fmt.Errorf("want a duration up to 24h, such as 10ms")
	}
	return strconv.FormatFloat(float64(d)/float64(unit), 'g', -1, 64), nil
}
