// Package plain makes texts from elsewhere safe to show and to keep. Text of a server
// becomes a short line that cannot act on a terminal. A URL loses what is secret.
package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLine is the most that Line returns, in bytes.
const MaxLine = 200

const (
	replacement = string(utf8.RuneError)
	ellipsis    = "…"
)

// Line returns text as Clip does, in at most MaxLine bytes.
func Line(text string) string { return Clip(text, MaxLine) }

// Clip returns text as one line of at most so many bytes. White space in it
// becomes spaces. What is no printable character (control characters, escapes
// of terminals, marks of the writing's direction, broken UTF-8) is replaced by
// U+FFFD; what is left out at the end by an ellipsis.
func Clip(text string, most int) string {
	if len(text) <= most && isPlain(text) {
		return text
	}
	var line strings.Builder
	for i, r := range text {
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case !unicode.IsPrint(r):
			r = utf8.RuneError
		}
		rest := len(ellipsis)
		if i+1 == len(text) {
			rest = 0
		}
		if line.Len()+utf8.RuneLen(r)+rest > most {
			return line.String() + ellipsis
		}
		line.WriteRune(r)
	}
	return line.String()
}

func isPlain(text string) bool {
	for _, r := range text {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}
