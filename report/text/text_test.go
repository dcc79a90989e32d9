package text

import "testing"

func TestWordsAreWrapped(t *testing.T) {
	for _, c := range []struct {
		text, indent string
		width        int
		want         string
	}{
		{"one two three", "", 8, "one two\nthree\n"},
		{"one two three", "", 7, "one two\nthree\n"},
		{"one two three", "! ", 7, "! one\n  two\n  three\n"},
		{"a-word-that-is-too-long for it", "", 6, "a-word-that-is-too-long\nfor it\n"},
		{"breaks\nare\x1b[2J no\tbreaks", "", 40, "breaks�are�[2J no�breaks\n"},
		{"", "! ", 9, "\n"},
	} {
		if got := wrap(c.text, c.indent, c.width); got != c.want {
			t.Errorf("wrap(%q, %q, %d) = %q, want %q", c.text, c.indent, c.width, got, c.want)
		}
	}
}
