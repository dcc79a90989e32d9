// Package pieceurl fills templates of URLs: one placeholder stands for the CID of
// a piece, in the version that the server is asked with.
package pieceurl

import (
	"fmt"
	"strings"
)

// V1 stands for the piece CID v1, V2 for the piece CID v2.
const (
	V1 = "{piece}"
	V2 = "{piece_v2}"
)

// Version returns the version of the CIDs that a template asks with, 1 or 2. It
// refuses a template that does not have exactly one kind of placeholder.
func Version(template string) (int, error) {
	v1, v2 := strings.Contains(template, V1), strings.Contains(template, V2)
	switch {
	case v1 && v2:
		return 0, fmt.Errorf("both %s and %s: want one of them", V1, V2)
	case v1:
		return 1, nil
	case v2:
		return 2, nil
	}
	return 0, fmt.Errorf("no %s (CID v1) or %s (CID v2)", V1, V2)
}

// Fill returns the URL of the piece with these CIDs.
func Fill(template, v1, v2 string) string {
	return strings.NewReplacer(V1, v1, V2, v2).Replace(template)
}
