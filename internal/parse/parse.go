// Package parse reads values of variables. Its errors say what is wanted.
package parse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Count reads a whole number from 1 to most.
func Count(most int) func(string) (int, error) {
	return func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return 0, fmt.Errorf("want a whole number from 1 to %d", most)
		}
		return n, nil
	}
}

// OneOf reads one of these words.
func OneOf(allowed ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(allowed, text) {
			return "", fmt.Errorf("want one of: %s", strings.Join(allowed, ", "))
		}
		return text, nil
	}
}
