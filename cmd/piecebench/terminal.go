package main

import (
	"os"

	"golang.org/x/term"
)

// Of a terminal's width, tables and text use at least and at most so many
// columns; where there is no terminal, the most.
const leastWidth, mostWidth = 80, 120

// terminalWidth is how many columns of standard output to use.
func terminalWidth() int {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return mostWidth
	}
	return min(max(width, leastWidth), mostWidth)
}
